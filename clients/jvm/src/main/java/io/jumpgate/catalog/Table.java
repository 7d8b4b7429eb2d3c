package io.jumpgate.catalog;

import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Files of one format; {@code columns} are those that they have, in order; {@code names}, in lower case, are of those
 * that the engine can read.
 */
public record Table(String format, List<String> files, List<Field> columns, Map<String, String> options,
    Map<String, Integer> names, ReadableTypes readable) {
  /** Raises IllegalArgumentException where names differ in case alone. */
  static Table of(
      String format, List<String> files, List<Field> columns, Map<String, String> options, ReadableTypes readable) {
    return new Table(format, files, columns, options, names(columns, readable), readable);
  }

  /** Columns by their positions, in this order. */
  public Operator read(List<Integer> indices) {
    return Operator.read(files, format, columns, indices, options, Optional.empty());
  }

  /** What the engine sees. */
  public Operator read() {
    return read(List.copyOf(names.values()));
  }

  /** Which columns the engine does not see, and why; none if it sees all. */
  public Optional<String> hidden(String engine) {
    String hidden = columns.stream()
                        .flatMap(f -> readable.whyNot(f.type()).map(why -> text(f, why)).stream())
                        .collect(Collectors.joining(", "));
    return hidden.isEmpty() ? Optional.empty() : Optional.of("not readable by " + engine + ": " + hidden);
  }

  private static String text(Field field, String why) {
    return "%s %s (%s)".formatted(field.name(), field.type().name(), why);
  }

  /**
   * Where the columns are that the engine can read. Raises IllegalArgumentException where these differ in case alone.
   */
  static Map<String, Integer> names(List<Field> columns, ReadableTypes readable) {
    Map<String, Integer> names = new LinkedHashMap<>();
    for (int i = 0; i < columns.size(); i++) {
      if (readable.whyNot(columns.get(i).type()).isEmpty()) {
        put(names, columns.get(i).name(), i);
      }
    }
    return names;
  }

  static <T> void put(Map<String, T> known, String name, T value) {
    if (known.put(name.toLowerCase(Locale.ENGLISH), value) != null) {
      throw new IllegalArgumentException("two are called '" + name + "' where case does not count");
    }
  }
}
