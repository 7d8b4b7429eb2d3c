package io.jumpgate.dataflow;

import java.util.ArrayList;
import java.util.List;

/** Types as people write them: {@code struct<a int64, b list<decimal(7, 2)>>?}. */
final class TypeText {
  private TypeText() {}

  /** Raises IllegalArgumentException. */
  static DataType parse(String text) {
    boolean nullable = text.endsWith("?");
    String name = (nullable ? text.substring(0, text.length() - 1) : text).strip();
    int open = name.indexOf('<');
    if (open > 0 && name.endsWith(">")) {
      return nested(name.substring(0, open), split(name.substring(open + 1, name.length() - 1))).withNullable(nullable);
    }
    open = name.indexOf('(');
    if (open < 0) {
      return new DataType.Plain(DataType.Kind.of(name), nullable);
    }
    if (!name.endsWith(")")) {
      throw unknown(text);
    }
    String parameter = name.substring(open + 1, name.length() - 1);
    return switch (DataType.Kind.of(name.substring(0, open).strip())) {
      case DECIMAL -> {
        int comma = parameter.indexOf(',');
        yield new DataType.Decimal(Integer.parseInt(parameter.substring(0, Math.max(0, comma)).strip()),
            Integer.parseInt(parameter.substring(comma + 1).strip()), nullable);
      }
      case TIMESTAMPTZ -> new DataType.Zoned(parameter, false, nullable);
      case TIMESTAMPTZ_NS -> new DataType.Zoned(parameter, true, nullable);
      case DURATION -> new DataType.Duration(parameter, nullable);
      default -> throw unknown(text);
    };
  }

  private static DataType nested(String kind, List<String> parts) {
    return switch (DataType.Kind.of(kind)) {
      case STRUCT -> DataType.struct(parts.stream().map(TypeText::field).toList());
      case LIST -> DataType.list(parse(only(kind, parts, 1).get(0)));
      case MAP -> DataType.map(parse(only(kind, parts, 2).get(0)), parse(parts.get(1)));
      default -> throw unknown(kind);
    };
  }

  private static List<String> only(String kind, List<String> parts, int count) {
    if (parts.size() != count) {
      throw new IllegalArgumentException("a %s of %d types".formatted(kind, parts.size()));
    }
    return parts;
  }

  private static Field field(String part) {
    int space = part.indexOf(' ');
    if (space < 0) {
      throw new IllegalArgumentException("a field of a struct is a name and a type, not '" + part + "'");
    }
    return new Field(part.substring(0, space), parse(part.substring(space + 1)).withNullable(true));
  }

  /** Splits at the commas outside of brackets. */
  private static List<String> split(String text) {
    List<String> parts = new ArrayList<>();
    int start = 0;
    int depth = 0;
    for (int i = 0; i < text.length(); i++) {
      char letter = text.charAt(i);
      depth += letter == '<' || letter == '(' ? 1 : letter == '>' || letter == ')' ? -1 : 0;
      if (letter == ',' && depth == 0) {
        parts.add(text.substring(start, i).strip());
        start = i + 1;
      }
    }
    if (!text.isBlank()) {
      parts.add(text.substring(start).strip());
    }
    return parts;
  }

  private static IllegalArgumentException unknown(String text) {
    return new IllegalArgumentException("unknown type '" + text + "'");
  }
}
