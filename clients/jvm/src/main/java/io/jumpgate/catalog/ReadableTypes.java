package io.jumpgate.catalog;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Types that an engine reads. */
public interface ReadableTypes {
  String NO_TYPE = "the engine has no such type";
  String NO_ZONE = "the engine does not know the zone";

  /** Why a type without parts is not read; empty: it is. */
  Optional<String> whyNotScalar(DataType type);

  /** Why a type is not read; empty: it is. A nested one is if all its parts are, which SQL tells apart by name. */
  default Optional<String> whyNot(DataType type) {
    if (!(type instanceof DataType.Nested nested)) {
      return whyNotScalar(type);
    }
    Set<String> names = new HashSet<>();
    for (Field part : nested.parts()) {
      if (!names.add(part.name().toLowerCase(Locale.ENGLISH))) {
        return Optional.of("two fields are called '" + part.name() + "' where case does not count");
      }
      Optional<String> why = whyNot(part.type());
      if (why.isPresent()) {
        return why.map(sentence -> "its %s %s: %s".formatted(part.name(), part.type().name(), sentence));
      }
    }
    return names.isEmpty() ? Optional.of("a row of the engine has a field") : Optional.empty();
  }
}
