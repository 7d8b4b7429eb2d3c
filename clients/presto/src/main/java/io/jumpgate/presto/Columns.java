package io.jumpgate.presto;

import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.block.ByteArrayBlock;
import com.facebook.presto.common.block.Int128ArrayBlock;
import com.facebook.presto.common.block.IntArrayBlock;
import com.facebook.presto.common.block.LongArrayBlock;
import com.facebook.presto.common.block.ShortArrayBlock;
import com.facebook.presto.common.block.VariableWidthBlock;
import io.airlift.slice.Slices;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.ColumnarFrame;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Received columns as Presto's blocks. */
final class Columns {
  private Columns() {}

  /** A copy of a received column; a NULL's value is whatever was sent. */
  static Block block(Field field, ColumnarFrame.Column column, int rows) {
    Optional<boolean[]> nulls = nulls(column, rows);
    ByteBuffer values = column.values().bytes();
    return switch (field.type().kind()) {
      case BOOL -> new ByteArrayBlock(rows, nulls, flags(values, rows));
      case INT8 -> new ByteArrayBlock(rows, nulls, bytes(values, 0, rows));
      case INT16 -> {
        short[] copy = new short[rows];
        part(values, 2 * rows).asShortBuffer().get(copy);
        yield new ShortArrayBlock(rows, nulls, copy);
      }
      case INT32, FLOAT32, DATE -> new IntArrayBlock(rows, nulls, ints(values, rows));
      case INT64, FLOAT64 -> new LongArrayBlock(rows, nulls, longs(values, rows));
      case DECIMAL -> decimals((DataType.Decimal) field.type(), nulls, longs(values, 2 * rows), rows);
      case STRING, BINARY -> texts(nulls, values, ints(column.offsets().bytes(), rows + 1), rows);
      default -> throw new IllegalStateException(field.type().name());
    };
  }

  private static Optional<boolean[]> nulls(ColumnarFrame.Column column, int rows) {
    if (!column.hasNulls()) {
      return Optional.empty();
    }
    ByteBuffer validity = column.validity().bytes();
    boolean[] nulls = new boolean[rows];
    for (int row = 0; row < rows; row++) {
      nulls[row] = bit(validity, row) == 0;
    }
    return Optional.of(nulls);
  }

  /** Presto keeps up to 18 digits in a long, and more as sign and magnitude. */
  private static Block decimals(DataType.Decimal type, Optional<boolean[]> nulls, long[] words, int rows) {
    if (type.precision() > DataType.Decimal.LONG_DIGITS) {
      for (int i = 0; i < words.length; i += 2) {
        if (words[i + 1] < 0) {
          words[i + 1] = (words[i] == 0 ? -words[i + 1] : ~words[i + 1]) | Long.MIN_VALUE;
          words[i] = -words[i];
        }
      }
      return new Int128ArrayBlock(rows, nulls, words);
    }
    long[] values = new long[rows];
    for (int row = 0; row < rows; row++) {
      values[row] = words[2 * row];
    }
    return new LongArrayBlock(rows, nulls, values);
  }

  private static Block texts(Optional<boolean[]> nulls, ByteBuffer values, int[] offsets, int rows) {
    int first = offsets[0];
    byte[] text = bytes(values, first, offsets[rows] - first);
    for (int row = 0; row <= rows; row++) {
      offsets[row] -= first;
    }
    return new VariableWidthBlock(rows, Slices.wrappedBuffer(text), offsets, nulls);
  }

  private static byte[] flags(ByteBuffer bits, int rows) {
    byte[] flags = new byte[rows];
    for (int row = 0; row < rows; row++) {
      flags[row] = bit(bits, row);
    }
    return flags;
  }

  private static byte[] bytes(ByteBuffer values, int from, int count) {
    byte[] copy = new byte[count];
    values.get(from, copy);
    return copy;
  }

  private static int[] ints(ByteBuffer values, int count) {
    int[] copy = new int[count];
    part(values, 4 * count).asIntBuffer().get(copy);
    return copy;
  }

  private static long[] longs(ByteBuffer values, int count) {
    long[] copy = new long[count];
    part(values, 8 * count).asLongBuffer().get(copy);
    return copy;
  }

  private static ByteBuffer part(ByteBuffer values, int bytes) {
    return values.slice(0, bytes).order(values.order());
  }

  private static byte bit(ByteBuffer bits, int row) {
    return (byte) (bits.get(row >> 3) >> (row & 7) & 1);
  }
}
