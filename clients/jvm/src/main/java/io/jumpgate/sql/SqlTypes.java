package io.jumpgate.sql;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/** Types and values that Presto and Trino have alike. */
public final class SqlTypes {
  private SqlTypes() {}

  /** The type that has no parameters, by its name in SQL; nullable. Raises NotOffloaded. */
  public static DataType named(String base, String shown) {
    return switch (base) {
      case "boolean" -> DataType.BOOL;
      case "tinyint" -> DataType.INT8;
      case "smallint" -> DataType.INT16;
      case "integer" -> DataType.INT32;
      case "bigint" -> DataType.INT64;
      case "real" -> DataType.FLOAT32;
      case "double" -> DataType.FLOAT64;
      case "date" -> DataType.DATE;
      case "varbinary" -> DataType.BINARY;
      default -> throw new NotOffloaded(Code.TYPE, "there is no exact counterpart of " + shown);
    };
  }

  /**
   * A constant as plans have it: numbers and dates are longs, but for doubles. {@code bytes}: of a text or binary;
   * {@code digits}: of a decimal that is no long.
   */
  public static Expression literal(
      Object value, DataType type, Function<Object, byte[]> bytes, Function<Object, BigInteger> digits) {
    if (value == null) {
      return Expression.nullOf(type);
    }
    return switch (type.kind()) {
      case BOOL -> Expression.bool((Boolean) value);
      case DATE -> Expression.date(Math.toIntExact((Long) value));
      case TIMESTAMP -> Expression.moment((Long) value, type);
      case FLOAT32 -> Expression.floating(Float.intBitsToFloat(((Long) value).intValue()), type);
      case FLOAT64 -> Expression.floating((Double) value, type);
      case STRING -> Expression.string(new String(bytes.apply(value), StandardCharsets.UTF_8));
      case BINARY -> Expression.binary(bytes.apply(value));
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) type;
        BigInteger unscaled = value instanceof Long small ? BigInteger.valueOf(small) : digits.apply(value);
        yield Expression.decimal(new BigDecimal(unscaled, decimal.scale()), decimal.precision(), decimal.scale());
      }
      default -> Expression.integer((Long) value, type);
    };
  }
}
