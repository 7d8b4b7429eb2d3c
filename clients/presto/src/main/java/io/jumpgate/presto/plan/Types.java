package io.jumpgate.presto.plan;

import com.facebook.presto.common.type.ArrayType;
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
import io.jumpgate.sql.SqlTypes;
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
      case LIST -> presto(((DataType.Nested) type).parts().get(0).type()).map(ArrayType::new).orElse(null);
      default -> null;
    });
  }

  /** Whether a table may have columns of the type: arrays are made, and not read. */
  public static boolean isRead(DataType type) {
    return !(type instanceof DataType.Nested) && presto(type).isPresent();
  }

  /** Jumpgate's type of the same values, nullable. */
  static DataType jumpgate(Type type) {
    if (type instanceof DecimalType decimal) {
      return DataType.decimal(decimal.getPrecision(), decimal.getScale());
    }
    if (type instanceof VarcharType) {
      return DataType.STRING;
    }
    return SqlTypes.named(type.getTypeSignature().getBase(), type.getDisplayName());
  }

  /** A constant as Presto's plans have it. */
  static Expression literal(Object value, Type type) {
    return SqlTypes.literal(
        value, jumpgate(type), text -> ((Slice) text).getBytes(), large -> Decimals.decodeUnscaledValue((Slice) large));
  }
}
