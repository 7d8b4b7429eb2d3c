package io.jumpgate.dataflow;

import com.google.protobuf.InvalidProtocolBufferException;
import io.jumpgate.v1.Type;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Jumpgate's data types, which map one to one to Arrow's. A type says whether NULL may occur. {@link #text} is what
 * descriptors and messages write: {@code decimal(7,2)?}.
 */
public sealed interface DataType {
  boolean nullable();

  DataType withNullable(boolean nullable);

  /** The type without its parameters. */
  Kind kind();

  /** How descriptors write it; {@code ?} says that NULL may occur. */
  default String text() {
    return name() + (nullable() ? "?" : "");
  }

  /** The type's name with its parameters. */
  default String name() {
    return kind().text();
  }

  /** The message of a request. */
  default Type toProto() {
    return Type.newBuilder().setKind(kind().text()).setRequired(!nullable()).build();
  }

  /** Equal but for nullability. */
  default boolean same(DataType other) {
    return equals(other.withNullable(nullable()));
  }

  default boolean isFloat() {
    return kind() == Kind.FLOAT32 || kind() == Kind.FLOAT64;
  }

  /** Whether values are integers. */
  default boolean isWhole() {
    return switch (kind()) {
      case INT8, INT16, INT32, INT64 -> true;
      default -> false;
    };
  }

  /**
   * What a value is in memory. {@code width}: bytes in a row tuple and in C++; 0 where that depends on the type or
   * value.
   */
  enum Kind {
    BOOL(1),
    INT8(1),
    INT16(2),
    INT32(4),
    INT64(8),
    FLOAT32(4),
    FLOAT64(8),
    DECIMAL(0),
    DATE(4),
    TIMESTAMP(8),
    STRING(0),
    BINARY(0),
    TIME(8),
    TIMESTAMP_NS(8),
    TIMESTAMPTZ(8),
    TIMESTAMPTZ_NS(8),
    DURATION(8),
    STRUCT(0),
    LIST(0),
    MAP(0),
    OPAQUE(0);

    private final int width;
    private final String text = name().toLowerCase(Locale.ROOT);

    Kind(int width) {
      this.width = width;
    }

    /** As requests and descriptors write it. */
    public String text() {
      return text;
    }

    static Kind of(String text) {
      for (Kind kind : values()) {
        if (kind.text.equals(text)) {
          return kind;
        }
      }
      throw new IllegalArgumentException("unknown type '" + text + "'");
    }
  }

  /** A type without parameters. */
  record Plain(Kind kind, boolean nullable) implements DataType {
    private static final Set<Kind> OTHERS = Set.of(Kind.DECIMAL, Kind.TIMESTAMPTZ, Kind.TIMESTAMPTZ_NS, Kind.DURATION,
        Kind.STRUCT, Kind.LIST, Kind.MAP, Kind.OPAQUE);

    public Plain {
      if (OTHERS.contains(kind)) {
        throw new IllegalArgumentException(kind.text() + " needs parameters");
      }
    }

    @Override
    public Plain withNullable(boolean nullable) {
      return new Plain(kind, nullable);
    }
  }

  /** {@code precision} digits, {@code scale} of them after the point. */
  record Decimal(int precision, int scale, boolean nullable) implements DataType {
    /** Up to so many digits fit a long. */
    public static final int LONG_DIGITS = 18;
    /** The most digits. */
    public static final int DIGITS_MAX = 38;

    public Decimal {
      if (precision < 1 || precision > DIGITS_MAX || scale < 0 || scale > precision) {
        throw new IllegalArgumentException(
            "decimal(%d,%d): precision is 1 to 38, scale 0 to precision".formatted(precision, scale));
      }
    }

    @Override
    public Kind kind() {
      return Kind.DECIMAL;
    }

    @Override
    public String name() {
      return "decimal(" + precision + "," + scale + ")";
    }

    @Override
    public Decimal withNullable(boolean nullable) {
      return new Decimal(precision, scale, nullable);
    }

    @Override
    public Type toProto() {
      return DataType.super.toProto().toBuilder().setPrecision(precision).setScale(scale).build();
    }
  }

  /** A moment in UTC that people see in {@code zone}; in microseconds, or nanoseconds. */
  record Zoned(String zone, boolean nanoseconds, boolean nullable) implements DataType {
    private static final Pattern ZONE = Pattern.compile("[A-Za-z0-9_+\\-/:]{1,64}");

    public Zoned {
      if (!ZONE.matcher(zone).matches()) {
        throw new IllegalArgumentException("'" + zone + "' is not the name of a time zone");
      }
    }

    @Override
    public Kind kind() {
      return nanoseconds ? Kind.TIMESTAMPTZ_NS : Kind.TIMESTAMPTZ;
    }

    @Override
    public String name() {
      return kind().text() + "(" + zone + ")";
    }

    @Override
    public Zoned withNullable(boolean nullable) {
      return new Zoned(zone, nanoseconds, nullable);
    }

    @Override
    public Type toProto() {
      return DataType.super.toProto().toBuilder().setZone(zone).build();
    }
  }

  /** A number of {@code unit}: s, ms, us or ns. */
  record Duration(String unit, boolean nullable) implements DataType {
    private static final Set<String> UNITS = Set.of("s", "ms", "us", "ns");

    public Duration {
      if (!UNITS.contains(unit)) {
        throw new IllegalArgumentException("'" + unit + "' is not the unit of a duration: s, ms, us, ns");
      }
    }

    @Override
    public Kind kind() {
      return Kind.DURATION;
    }

    @Override
    public String name() {
      return "duration(" + unit + ")";
    }

    @Override
    public Duration withNullable(boolean nullable) {
      return new Duration(unit, nullable);
    }

    @Override
    public Type toProto() {
      return DataType.super.toProto().toBuilder().setUnit(unit).build();
    }
  }

  /** A struct's fields, a list's element, a map's key and value: nullable but the key. */
  record Nested(Kind kind, List<Field> parts, boolean nullable) implements DataType {
    public Nested {
      parts = List.copyOf(parts);
      List<String> names = parts.stream().map(Field::name).toList();
      boolean fits = switch (kind) {
        case STRUCT -> Set.copyOf(names).size() == names.size();
        case LIST -> names.equals(List.of("element"));
        case MAP -> names.equals(List.of("key", "value"));
        default -> false;
      };
      if (!fits) {
        throw new IllegalArgumentException("a " + kind.text() + " has no parts " + names);
      }
    }

    @Override
    public Nested withNullable(boolean nullable) {
      return new Nested(kind, parts, nullable);
    }

    @Override
    public String name() {
      return parts.stream()
          .map(part -> (kind == Kind.STRUCT ? part.name() + " " : "") + part.type().name())
          .collect(Collectors.joining(", ", kind.text() + "<", ">"));
    }

    @Override
    public Type toProto() {
      Type.Builder type = DataType.super.toProto().toBuilder();
      parts.forEach(part -> type.addParts(part.toProto()));
      return type.build();
    }
  }

  /** A column of a file that nobody reads; {@code description} says what the file has there. */
  record Opaque(String description, boolean nullable) implements DataType {
    @Override
    public Kind kind() {
      return Kind.OPAQUE;
    }

    @Override
    public Opaque withNullable(boolean nullable) {
      return new Opaque(description, nullable);
    }

    @Override
    public Type toProto() {
      return DataType.super.toProto().toBuilder().setDescription(description).build();
    }
  }

  DataType BOOL = new Plain(Kind.BOOL, true);
  DataType INT8 = new Plain(Kind.INT8, true);
  DataType INT16 = new Plain(Kind.INT16, true);
  DataType INT32 = new Plain(Kind.INT32, true);
  DataType INT64 = new Plain(Kind.INT64, true);
  DataType FLOAT32 = new Plain(Kind.FLOAT32, true);
  DataType FLOAT64 = new Plain(Kind.FLOAT64, true);
  DataType DATE = new Plain(Kind.DATE, true);
  DataType TIME = new Plain(Kind.TIME, true);
  DataType TIMESTAMP = new Plain(Kind.TIMESTAMP, true);
  DataType TIMESTAMP_NS = new Plain(Kind.TIMESTAMP_NS, true);
  DataType STRING = new Plain(Kind.STRING, true);
  DataType BINARY = new Plain(Kind.BINARY, true);

  static DataType decimal(int precision, int scale) {
    return new Decimal(precision, scale, true);
  }

  static DataType timestamptz(String zone) {
    return new Zoned(zone, false, true);
  }

  static DataType duration(String unit) {
    return new Duration(unit, true);
  }

  static DataType struct(List<Field> fields) {
    return new Nested(Kind.STRUCT, fields, true);
  }

  static DataType list(DataType element) {
    return new Nested(Kind.LIST, List.of(new Field("element", element.withNullable(true))), true);
  }

  static DataType map(DataType key, DataType value) {
    return new Nested(Kind.MAP,
        List.of(new Field("key", key.withNullable(false)), new Field("value", value.withNullable(true))), true);
  }

  static DataType opaque(String description) {
    return new Opaque(description, true);
  }

  /** Whether a value is bytes of any number; nested ones travel encoded (jumpgate/ntf/README.md). */
  default boolean isText() {
    return switch (kind()) {
      case STRING, BINARY, STRUCT, LIST, MAP -> true;
      default -> false;
    };
  }

  /** Bytes of a value in a row tuple, without those of text. */
  default int width() {
    if (this instanceof Decimal decimal) {
      return decimal.precision() <= Decimal.LONG_DIGITS ? 8 : 16;
    }
    return isText() ? 8 : kind().width;
  }

  /** What it is on an edge: a nested value is binary. */
  default DataType physical() {
    return this instanceof Nested ? new Plain(Kind.BINARY, nullable()) : this;
  }

  /** The inverse of {@link #text}, if no field of a struct has an odd name; raises IllegalArgumentException. */
  static DataType parse(String text) {
    return TypeText.parse(text);
  }

  /** The type as text, whatever its fields are called. */
  default String encoded() {
    return Base64.getEncoder().encodeToString(toProto().toByteArray());
  }

  /** The inverse of {@link #encoded}; raises IllegalArgumentException. */
  static DataType decode(String encoded) {
    try {
      return fromProto(Type.parseFrom(Base64.getDecoder().decode(encoded)));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("not a type: " + e.getMessage(), e);
    }
  }

  /** The type that a message declares; raises IllegalArgumentException. */
  static DataType fromProto(Type type) {
    boolean nullable = !type.getRequired();
    Kind kind = Kind.of(type.getKind());
    return switch (kind) {
      case DECIMAL -> new Decimal(type.getPrecision(), type.getScale(), nullable);
      case TIMESTAMPTZ, TIMESTAMPTZ_NS -> new Zoned(type.getZone(), kind == Kind.TIMESTAMPTZ_NS, nullable);
      case DURATION -> new Duration(type.getUnit(), nullable);
      case STRUCT, LIST, MAP -> new Nested(kind, type.getPartsList().stream().map(Field::fromProto).toList(), nullable);
      case OPAQUE -> new Opaque(type.getDescription(), nullable);
      default -> new Plain(kind, nullable);
    };
  }
}
