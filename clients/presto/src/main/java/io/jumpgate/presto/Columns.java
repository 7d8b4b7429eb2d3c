package io.jumpgate.presto;

import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.block.BlockBuilder;
import com.facebook.presto.common.type.Type;
import io.airlift.slice.Slices;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.presto.plan.Types;
import java.nio.ByteBuffer;

/** Received columns as Presto's blocks. */
final class Columns {
  private Columns() {}

  /** A copy of a received column. */
  static Block block(Field field, ColumnarFrame.Column column, int rows) {
    Type type = Types.presto(field.type()).orElseThrow();
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
        case DECIMAL -> decimal(out, type, values.getLong(16 * row), values.getLong(16 * row + 8));
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

  /** Presto keeps up to 18 digits in a long, and more as sign and magnitude. */
  private static void decimal(BlockBuilder out, Type type, long low, long high) {
    if (type.getJavaType() == long.class) {
      type.writeLong(out, low);
    } else if (high >= 0) {
      type.writeSlice(out, Slices.wrappedLongArray(low, high));
    } else {
      type.writeSlice(out, Slices.wrappedLongArray(-low, (low == 0 ? -high : ~high) | Long.MIN_VALUE));
    }
  }

  private static boolean bit(ByteBuffer bits, int row) {
    return (bits.get(row >> 3) >> (row & 7) & 1) != 0;
  }
}
