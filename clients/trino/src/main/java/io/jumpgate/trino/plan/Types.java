package io.jumpgate.trino.plan;

import io.airlift.slice.Slice;
import io.jumpgate.catalog.ReadableTypes;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlTypes;
import io.trino.spi.type.ArrayType;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DateType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.Int128;
import io.trino.spi.type.IntegerType;
import io.trino.spi.type.LongTimestamp;
import io.trino.spi.type.LongTimestampWithTimeZone;
import io.trino.spi.type.MapType;
import io.trino.spi.type.RealType;
import io.trino.spi.type.RowType;
import io.trino.spi.type.SmallintType;
import io.trino.spi.type.TimeZoneKey;
import io.trino.spi.type.TimeZoneNotSupportedException;
import io.trino.spi.type.TimestampType;
import io.trino.spi.type.TimestampWithTimeZoneType;
import io.trino.spi.type.TinyintType;
import io.trino.spi.type.Type;
import io.trino.spi.type.TypeOperators;
import io.trino.spi.type.VarbinaryType;
import io.trino.spi.type.VarcharType;
import java.util.List;
import java.util.Optional;

/** Jumpgate's types and values as Trino's, and the other way. */
public record Types(TypeOperators operators) implements ReadableTypes {
  private static final long MICROS = 1_000;
  private static final int PICOS_PER_MICRO = 1_000_000;
  private static final int PICOS_PER_NANO = 1_000;

  /** Trino's type of the same values. Raises IllegalArgumentException for one that is not readable. */
  public Type trino(DataType type) {
    if (!(type instanceof DataType.Nested nested)) {
      return scalar(type).orElseThrow(() -> new IllegalArgumentException(type.name()));
    }
    List<Type> parts = nested.parts().stream().map(part -> trino(part.type())).toList();
    return switch (type.kind()) {
      case LIST -> new ArrayType(parts.get(0));
      case MAP -> new MapType(parts.get(0), parts.get(1), operators);
      default ->
        RowType.from(nested.parts().stream().map(part -> RowType.field(part.name(), trino(part.type()))).toList());
    };
  }

  private static Optional<Type> scalar(DataType type) {
    return Optional.ofNullable(switch (type.kind()) {
      case BOOL -> BooleanType.BOOLEAN;
      case INT8 -> TinyintType.TINYINT;
      case INT16 -> SmallintType.SMALLINT;
      case INT32 -> IntegerType.INTEGER;
      case INT64 -> BigintType.BIGINT;
      case FLOAT32 -> RealType.REAL;
      case FLOAT64 -> DoubleType.DOUBLE;
      case DATE -> DateType.DATE;
      case TIMESTAMP -> TimestampType.TIMESTAMP_MICROS;
      case TIMESTAMP_NS -> TimestampType.TIMESTAMP_NANOS;
      case TIMESTAMPTZ -> TimestampWithTimeZoneType.TIMESTAMP_TZ_MICROS;
      case TIMESTAMPTZ_NS -> TimestampWithTimeZoneType.TIMESTAMP_TZ_NANOS;
      case STRING -> VarcharType.VARCHAR;
      case BINARY -> VarbinaryType.VARBINARY;
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) type;
        yield DecimalType.createDecimalType(decimal.precision(), decimal.scale());
      }
      default -> null;
    });
  }

  @Override
  public Optional<String> whyNotScalar(DataType type) {
    if (type instanceof DataType.Zoned zoned && zone(zoned).isEmpty()) {
      return Optional.of(NO_ZONE);
    }
    return scalar(type).isPresent() ? Optional.empty() : Optional.of(NO_TYPE);
  }

  /** Trino's number for a zone; empty: it has none. */
  public static Optional<TimeZoneKey> zone(DataType.Zoned type) {
    try {
      return Optional.of(TimeZoneKey.getTimeZoneKey(type.zone()));
    } catch (TimeZoneNotSupportedException e) {
      return Optional.empty();
    }
  }

  /** Jumpgate's type of the same values, nullable. Raises NotOffloaded. */
  static DataType jumpgate(Type type) {
    if (type instanceof DecimalType decimal) {
      return DataType.decimal(decimal.getPrecision(), decimal.getScale());
    }
    if (type instanceof VarcharType) {
      return DataType.STRING;
    }
    if (type.equals(TimestampType.TIMESTAMP_MICROS)) {
      return DataType.TIMESTAMP;
    }
    if (type.equals(TimestampType.TIMESTAMP_NANOS)) {
      return DataType.TIMESTAMP_NS;
    }
    if (isNested(type)) {
      throw new NotOffloaded(Code.TYPE, "arrays, maps and rows are computed by Trino: " + type.getDisplayName());
    }
    return SqlTypes.named(type.getBaseName(), type.getDisplayName());
  }

  static boolean isNested(Type type) {
    return type instanceof ArrayType || type instanceof MapType || type instanceof RowType;
  }

  /** Raises NotOffloaded for a column whose values are made of others. */
  static void requireScalar(String name, DataType type) {
    if (type instanceof DataType.Nested) {
      throw new NotOffloaded(Code.TYPE, "arrays, maps and rows are compared by Trino: " + name);
    }
  }

  /** A constant as Trino's plans have it. Raises NotOffloaded. */
  static Expression literal(Object value, Type type) {
    return value instanceof LongTimestamp moment
        ? nanoseconds(moment.getEpochMicros(), moment.getPicosOfMicro(), DataType.TIMESTAMP_NS)
        : SqlTypes.literal(
              value, jumpgate(type), text -> ((Slice) text).getBytes(), large -> ((Int128) large).toBigInteger());
  }

  /** The same for values of a column, whose zone a moment has nothing to do with. */
  static Expression literal(Object value, Type type, DataType column) {
    if (!(value instanceof LongTimestampWithTimeZone moment)) {
      return literal(value, type);
    }
    long micros = moment.getEpochMillis() * MICROS + moment.getPicosOfMilli() / PICOS_PER_MICRO;
    return column.kind() == DataType.Kind.TIMESTAMPTZ
        ? Expression.moment(micros, column)
        : nanoseconds(micros, moment.getPicosOfMilli() % PICOS_PER_MICRO, column);
  }

  private static Expression nanoseconds(long micros, int picos, DataType type) {
    try {
      return Expression.integer(Math.addExact(Math.multiplyExact(micros, MICROS), picos / (long) PICOS_PER_NANO), type);
    } catch (ArithmeticException e) {
      throw new NotOffloaded(Code.TYPE, "a timestamp that nanoseconds do not count");
    }
  }
}
