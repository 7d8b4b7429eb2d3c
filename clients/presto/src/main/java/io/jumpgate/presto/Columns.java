package io.jumpgate.presto;

import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.block.BlockBuilder;
import com.facebook.presto.common.type.BigintType;
import com.facebook.presto.common.type.BooleanType;
import com.facebook.presto.common.type.DateType;
import com.facebook.presto.common.type.DecimalType;
import com.facebook.presto.common.type.DoubleType;
import com.facebook.presto.common.type.IntegerType;
import com.facebook.presto.common.type.RealType;
import com.facebook.presto.common.type.SmallintType;
import com.facebook.presto.common.type.TinyintType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.VarbinaryType;
import com.facebook.presto.common.type.VarcharType;
import io.airlift.slice.Slices;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.ColumnarFrame;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Jumpgate's types and columns as Presto's. */
final class Columns {
  private Columns() {}

  /** Presto's type of the same values; none for one that it lacks, or knows less exactly. */
  static Optional<Type> type(DataType type) {
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
      case DECIMAL -> decimal((DataType.Decimal) type);
      default -> null;
    });
  }

  private static Type decimal(DataType.Decimal type) {
    boolean isShort = type.precision() <= DataType.Decimal.LONG_DIGITS;
    return isShort ? DecimalType.createDecimalType(type.precision(), type.scale()) : null;
  }

  /** A copy of a received column. */
  static Block block(Field field, ColumnarFrame.Column column, int rows) {
    Type type = type(field.type()).orElseThrow();
    BlockBuilder out = type.createBlockBuilder(null, rows);
    ByteBuffer validity = column.hasNulls() ? column.validity().bytes() : null;
    ByteBuffer offsets = column.offsets() == null ? null : column.offsets().bytes();
    ByteBuffer values = column.values().bytes();
    for (int row = 0; row < rows; row++) {
      if (validity != null && !bit(validity, row)) {
        out.appendNull();
        continue;
      }
      switch (field.type().kind()) {
        case BOOL -> type.writeBoolean(out, bit(values, row));
        case INT8 -> type.writeLong(out, values.get(row));
        case INT16 -> type.writeLong(out, values.getShort(2 * row));
        case INT32, FLOAT32, DATE -> type.writeLong(out, values.getInt(4 * row));
        case INT64 -> type.writeLong(out, values.getLong(8 * row));
        case FLOAT64 -> type.writeDouble(out, values.getDouble(8 * row));
        case DECIMAL -> type.writeLong(out, values.getLong(16 * row));
        case STRING, BINARY -> {
          byte[] text = new byte[offsets.getInt(4 * row + 4) - offsets.getInt(4 * row)];
          values.get(offsets.getInt(4 * row), text);
          type.writeSlice(out, Slices.wrappedBuffer(text));
        }
        default -> throw new IllegalStateException(field.type().name());
      }
    }
    return out.build();
  }

  private static boolean bit(ByteBuffer bits, int row) {
    return (bits.get(row >> 3) >> (row & 7) & 1) != 0;
  }
}
