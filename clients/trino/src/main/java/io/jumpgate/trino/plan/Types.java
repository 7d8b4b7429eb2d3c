package io.jumpgate.trino.plan;

import io.airlift.slice.Slice;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DateType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.Int128;
import io.trino.spi.type.IntegerType;
import io.trino.spi.type.RealType;
import io.trino.spi.type.SmallintType;
import io.trino.spi.type.TimestampType;
import io.trino.spi.type.TinyintType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarbinaryType;
import io.trino.spi.type.VarcharType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Optional;

/** Jumpgate's types and values as Trino's, and the other way. */
public final class Types {
  private Types() {}

  /** Trino's type of the same values; none for one that it lacks, or that is not read. */
  public static Optional<Type> trino(DataType type) {
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
      case STRING -> VarcharType.VARCHAR;
      case BINARY -> VarbinaryType.VARBINARY;
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) type;
        yield DecimalType.createDecimalType(decimal.precision(), decimal.scale());
      }
      default -> null;
    });
  }

  /** Jumpgate's type of the same values, nullable. Raises NotOffloaded. */
  static DataType jumpgate(Type type) {
    if (type instanceof DecimalType decimal) {
      return DataType.decimal(decimal.getPrecision(), decimal.getScale());
    }
    if (type instanceof VarcharType) {
      return DataType.STRING;
    }
    if (type instanceof TimestampType timestamp && timestamp.getPrecision() == TimestampType.MAX_SHORT_PRECISION) {
      return DataType.TIMESTAMP;
    }
    return switch (type.getBaseName()) {
      case "boolean" -> DataType.BOOL;
      case "tinyint" -> DataType.INT8;
      case "smallint" -> DataType.INT16;
      case "integer" -> DataType.INT32;
      case "bigint" -> DataType.INT64;
      case "real" -> DataType.FLOAT32;
      case "double" -> DataType.FLOAT64;
      case "date" -> DataType.DATE;
      case "varbinary" -> DataType.BINARY;
      default -> throw new NotOffloaded(Code.TYPE, "there is no exact counterpart of " + type.getDisplayName());
    };
  }

  /** A constant as Trino's plans have it. Raises NotOffloaded. */
  static Expression literal(Object value, Type type) {
    DataType target = jumpgate(type);
    if (value == null) {
      return Expression.nullOf(target);
    }
    return switch (target.kind()) {
      case BOOL -> Expression.bool((Boolean) value);
      case DATE -> Expression.date(Math.toIntExact((Long) value));
      case TIMESTAMP -> Expression.moment((Long) value, target);
      case FLOAT32 -> Expression.floating(Float.intBitsToFloat(((Long) value).intValue()), target);
      case FLOAT64 -> Expression.floating((Double) value, target);
      case STRING -> Expression.string(((Slice) value).toStringUtf8());
      case BINARY -> Expression.binary(((Slice) value).getBytes());
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) target;
        BigInteger digits = value instanceof Int128 large ? large.toBigInteger() : BigInteger.valueOf((Long) value);
        yield Expression.decimal(new BigDecimal(digits, decimal.scale()), decimal.precision(), decimal.scale());
      }
      default -> Expression.integer((Long) value, target);
    };
  }

  static boolean isFloat(DataType type) {
    return type.kind() == DataType.Kind.FLOAT32 || type.kind() == DataType.Kind.FLOAT64;
  }

  static boolean isWhole(DataType type) {
    return switch (type.kind()) {
      case INT8, INT16, INT32, INT64 -> true;
      default -> false;
    };
  }

  /** As {@code target}, but for its nullability; a value that it does not hold fails the job. */
  static Expression cast(Expression value, DataType target) {
    return value.type().same(target) ? value : Expression.cast(value, target);
  }
}
