package io.jumpgate.presto.plan;

import com.facebook.presto.common.type.BigintType;
import com.facebook.presto.common.type.BooleanType;
import com.facebook.presto.common.type.DateType;
import com.facebook.presto.common.type.DecimalType;
import com.facebook.presto.common.type.Decimals;
import com.facebook.presto.common.type.DoubleType;
import com.facebook.presto.common.type.IntegerType;
import com.facebook.presto.common.type.RealType;
import com.facebook.presto.common.type.SmallintType;
import com.facebook.presto.common.type.TinyintType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.VarbinaryType;
import com.facebook.presto.common.type.VarcharType;
import io.airlift.slice.Slice;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Optional;

/** Jumpgate's types and values as Presto's, and the other way. */
public final class Types {
  private Types() {}

  /** Presto's type of the same values; none for one that it lacks, or knows less exactly. */
  public static Optional<Type> presto(DataType type) {
    return Optional.ofNullable(switch (type.kind()) {
      case BOOL -> BooleanType.BOOLEAN;
      case INT8 -> TinyintType.TINYINT;
      case INT16 -> SmallintType.SMALLINT;
      case INT32 -> IntegerType.INTEGER;
      case INT64 -> BigintType.BIGINT;
      case FLOAT32 -> RealType.REAL;
      case FLOAT64 -> DoubleType.DOUBLE;
      case DATE -> DateType.DATE;
      case STRING -> VarcharType.VARCHAR;
      case BINARY -> VarbinaryType.VARBINARY;
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) type;
        yield DecimalType.createDecimalType(decimal.precision(), decimal.scale());
      }
      default -> null;
    });
  }

  /** Jumpgate's type of the same values, nullable. */
  static DataType jumpgate(Type type) {
    if (type instanceof DecimalType decimal) {
      return DataType.decimal(decimal.getPrecision(), decimal.getScale());
    }
    if (type instanceof VarcharType) {
      return DataType.STRING;
    }
    return switch (type.getTypeSignature().getBase()) {
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

  /** A constant as Presto's plans have it. */
  static Expression literal(Object value, Type type) {
    DataType target = jumpgate(type);
    if (value == null) {
      return Expression.nullOf(target);
    }
    return switch (target.kind()) {
      case BOOL -> Expression.bool((Boolean) value);
      case DATE -> Expression.date(Math.toIntExact((Long) value));
      case FLOAT32 -> Expression.floating(Float.intBitsToFloat(((Long) value).intValue()), target);
      case FLOAT64 -> Expression.floating((Double) value, target);
      case STRING -> Expression.string(((Slice) value).toStringUtf8());
      case BINARY -> Expression.binary(((Slice) value).getBytes());
      case DECIMAL -> {
        DecimalType decimal = (DecimalType) type;
        BigInteger digits =
            value instanceof Slice slice ? Decimals.decodeUnscaledValue(slice) : BigInteger.valueOf((Long) value);
        BigDecimal exact = new BigDecimal(digits, decimal.getScale());
        yield Expression.decimal(exact, decimal.getPrecision(), decimal.getScale());
      }
      default -> Expression.integer((Long) value, target);
    };
  }

  /** As {@code target}, but for its nullability; a value that it does not hold fails the job. */
  static Expression cast(Expression value, DataType target) {
    return value.type().same(target) ? value : Expression.cast(value, target);
  }
}
