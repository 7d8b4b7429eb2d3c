package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * A received column as arrays, for engines whose vectors are on the heap. {@code nulls}: of each value; null where none
 * is NULL, whose value nobody knows. {@code values}: by width a {@code byte[]}, {@code short[]}, {@code int[]} or
 * {@code long[]}; a bool is a byte, a decimal of more digits than a long holds two longs, the low one first; text is
 * back to back. {@code offsets}: where a text, list or map begins, and the last one ends. {@code parts}: of a struct
 * its fields, which have a value for each of its own; of a list all elements; of a map all keys, then all values.
 */
public record
    HeapColumn(DataType type, int count, boolean[] nulls, Object values, int[] offsets, List<HeapColumn> parts) {
  private static final int DECIMAL_WIDTH = 16;

  /** A copy of a column of that type. Raises {@code protocol} where nested values are none. */
  public static HeapColumn of(DataType type, ColumnarFrame.Column column, int rows) {
    if (type instanceof DataType.Nested nested) {
      return taken(nested, column, rows);
    }
    boolean[] nulls = nulls(column, rows);
    ByteBuffer values = column.values().bytes();
    return switch (type.kind()) {
      case BOOL -> new HeapColumn(type, rows, nulls, flags(values, rows), null, List.of());
      case DECIMAL -> new HeapColumn(type, rows, nulls, decimals(type, values, rows), null, List.of());
      case STRING, BINARY -> {
        int[] offsets = new int[rows + 1];
        column.offsets().bytes().asIntBuffer().get(offsets);
        byte[] text = new byte[offsets[rows]];
        values.get(text);
        yield new HeapColumn(type, rows, nulls, text, offsets, List.of());
      }
      default -> of(type, rows, nulls, values);
    };
  }

  /** Of values back to back, which have the type's own width. */
  static HeapColumn of(DataType type, int count, boolean[] nulls, ByteBuffer values) {
    ByteBuffer little = values.order(ByteOrder.LITTLE_ENDIAN);
    int width = type.width();
    Object array = switch (width) {
      case Byte.BYTES -> new byte[count];
      case Short.BYTES -> new short[count];
      case Integer.BYTES -> new int[count];
      default -> new long[count * (width / Long.BYTES)];
    };
    if (array instanceof byte[] bytes) {
      little.get(bytes);
    } else if (array instanceof short[] shorts) {
      little.asShortBuffer().get(shorts);
    } else if (array instanceof int[] ints) {
      little.asIntBuffer().get(ints);
    } else {
      little.asLongBuffer().get((long[]) array);
    }
    return new HeapColumn(type, count, nulls, array, null, List.of());
  }

  private static HeapColumn taken(DataType.Nested type, ColumnarFrame.Column column, int rows) {
    NestedValue.Shape shape = NestedValue.Shape.of(type);
    HeapColumnBuilder out = HeapColumnBuilder.of(type);
    boolean[] nulls = nulls(column, rows);
    ByteBuffer offsets = column.offsets().bytes();
    ByteBuffer values = column.values().bytes();
    for (int row = 0; row < rows; row++) {
      if (nulls != null && nulls[row]) {
        out.addNull();
      } else {
        int start = offsets.getInt(row * Integer.BYTES);
        out.add(shape.value(values.slice(start, offsets.getInt((row + 1) * Integer.BYTES) - start)));
      }
    }
    return out.build();
  }

  public boolean isNull(int position) {
    return nulls != null && nulls[position];
  }

  public byte[] bytes() {
    return (byte[]) values;
  }

  public short[] shorts() {
    return (short[]) values;
  }

  public int[] ints() {
    return (int[]) values;
  }

  public long[] longs() {
    return (long[]) values;
  }

  private static boolean[] nulls(ColumnarFrame.Column column, int rows) {
    if (!column.hasNulls()) {
      return null;
    }
    ByteBuffer validity = column.validity().bytes();
    boolean[] nulls = new boolean[rows];
    for (int row = 0; row < rows; row++) {
      nulls[row] = bit(validity, row) == 0;
    }
    return nulls;
  }

  private static byte[] flags(ByteBuffer bits, int rows) {
    byte[] flags = new byte[rows];
    for (int row = 0; row < rows; row++) {
      flags[row] = bit(bits, row);
    }
    return flags;
  }

  private static byte bit(ByteBuffer bits, int row) {
    return (byte) (bits.get(row >> 3) >> (row & 7) & 1);
  }

  /** Those of few digits without their high halves, which a frame has. */
  private static long[] decimals(DataType type, ByteBuffer values, int rows) {
    long[] words = new long[2 * rows];
    values.asLongBuffer().get(words);
    if (type.width() == DECIMAL_WIDTH) {
      return words;
    }
    long[] low = new long[rows];
    for (int row = 0; row < rows; row++) {
      low[row] = words[2 * row];
    }
    return low;
  }
}
