package io.jumpgate.catalog;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Files of one format; {@code columns} are those that they have, in order; {@code names}, in lower case, are of those
 * that the engine can read.
 */
public record Table(
    String format, List<String> files, List<Field> columns, Map<String, String> options, Map<String, Integer> names) {
  /**
   * {@code readable}: types that the engine can read. Raises IllegalArgumentException where names differ in case alone.
   */
  static Table of(String format, List<String> files, List<Field> columns, Map<String, String> options,
      Predicate<DataType> readable) {
    return new Table(format, files, columns, options, names(columns, readable));
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
    String hidden = IntStream.range(0, columns.size())
                        .filter(index -> !names.containsValue(index))
                        .mapToObj(columns::get)
                        .map(f -> "%s %s (%s)".formatted(f.name(), f.type().name(), why(f.type().kind())))
                        .collect(Collectors.joining(", "));
    return hidden.isEmpty() ? Optional.empty() : Optional.of("not readable by " + engine + ": " + hidden);
  }

  private static String why(DataType.Kind kind) {
    return switch (kind) {
      case TIMESTAMP, TIMESTAMP_NS -> "timestamps of the engine have fewer digits";
      case TIMESTAMPTZ, TIMESTAMPTZ_NS -> "in the engine each value has a zone of its own";
      case STRUCT, LIST, MAP -> "nested values are not received yet";
      default -> "the engine has no such type";
    };
  }

  /**
   * Where the columns are that the engine can read. Raises IllegalArgumentException where these differ in case alone.
   */
  static Map<String, Integer> names(List<Field> columns, Predicate<DataType> readable) {
    Map<String, Integer> names = new LinkedHashMap<>();
    for (int i = 0; i < columns.size(); i++) {
      if (readable.test(columns.get(i).type())) {
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
