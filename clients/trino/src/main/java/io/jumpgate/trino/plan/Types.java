package io.jumpgate.trino.plan;

import io.airlift.slice.Slice;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlTypes;
import io.jumpgate.trino.JumpgateColumn;
import io.trino.spi.type.ArrayType;
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
    return SqlTypes.named(type.getBaseName(), type.getDisplayName());
  }

  /** Raises NotOffloaded for a column of arrays, which are made, and not compared. */
  static void requireScalar(JumpgateColumn column) {
    if (column.shown() instanceof ArrayType) {
      throw new NotOffloaded(Code.TYPE, "arrays are compared by Trino: " + column.name());
    }
  }

  /** A constant as Trino's plans have it. Raises NotOffloaded. */
  static Expression literal(Object value, Type type) {
    return SqlTypes.literal(
        value, jumpgate(type), text -> ((Slice) text).getBytes(), large -> ((Int128) large).toBigInteger());
  }
}
