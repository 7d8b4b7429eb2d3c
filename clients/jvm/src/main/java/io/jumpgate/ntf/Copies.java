package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/** Received columns as arrays, for engines whose vectors are on the heap. */
public final class Copies {
  private Copies() {}

  /** Text, back to back; value i is from {@code offsets[i]} to {@code offsets[i + 1]}. */
  public record Texts(byte[] bytes, int[] offsets) {}

  /** Of each row; null where no value is NULL. What a NULL's value is, nobody knows. */
  public static boolean[] nulls(ColumnarFrame.Column column, int rows) {
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

  /** A column of bools: a byte each, 0 or 1. */
  public static byte[] flags(ColumnarFrame.Column column, int rows) {
    ByteBuffer bits = column.values().bytes();
    byte[] flags = new byte[rows];
    for (int row = 0; row < rows; row++) {
      flags[row] = bit(bits, row);
    }
    return flags;
  }

  public static byte[] bytes(ColumnarFrame.Column column, int count) {
    byte[] copy = new byte[count];
    column.values().bytes().get(copy);
    return copy;
  }

  public static short[] shorts(ColumnarFrame.Column column, int count) {
    short[] copy = new short[count];
    column.values().bytes().asShortBuffer().get(copy);
    return copy;
  }

  public static int[] ints(ColumnarFrame.Column column, int count) {
    int[] copy = new int[count];
    column.values().bytes().asIntBuffer().get(copy);
    return copy;
  }

  /** Of a decimal there are two: the low and the high half. */
  public static long[] longs(ColumnarFrame.Column column, int count) {
    long[] copy = new long[count];
    column.values().bytes().asLongBuffer().get(copy);
    return copy;
  }

  public static Texts texts(ColumnarFrame.Column column, int rows) {
    int[] offsets = new int[rows + 1];
    column.offsets().bytes().asIntBuffer().get(offsets);
    int first = offsets[0];
    byte[] text = new byte[offsets[rows] - first];
    column.values().bytes().get(first, text);
    for (int row = 0; row <= rows; row++) {
      offsets[row] -= first;
    }
    return new Texts(text, offsets);
  }

  /**
   * Hands out the elements of a column's lists, one after the other, and null for NULL; returns where those of each row
   * end, after a 0. Raises {@code protocol} where the bytes are not such lists.
   */
  public static int[] elements(
      ColumnarFrame.Column column, int rows, DataType.Nested list, Consumer<ByteBuffer> element) {
    NestedValue.Shape shape = NestedValue.Shape.of(list);
    boolean[] nulls = nulls(column, rows);
    ByteBuffer offsets = column.offsets().bytes();
    ByteBuffer values = column.values().bytes();
    int[] ends = new int[rows + 1];
    for (int row = 0; row < rows; row++) {
      ends[row + 1] = ends[row];
      if (nulls == null || !nulls[row]) {
        int start = offsets.getInt(row * Integer.BYTES);
        NestedValue value = shape.value(values.slice(start, offsets.getInt((row + 1) * Integer.BYTES) - start));
        for (int i = 0; i < value.size(); i++) {
          element.accept(value.isNull(i) ? null : value.part(i));
        }
        ends[row + 1] += value.size();
      }
    }
    return ends;
  }

  /** A little-endian number of up to 8 bytes. */
  public static long word(ByteBuffer bytes) {
    return switch (bytes.remaining()) {
      case Byte.BYTES -> bytes.get(0);
      case Short.BYTES -> bytes.getShort(0);
      case Integer.BYTES -> bytes.getInt(0);
      default -> bytes.getLong(0);
    };
  }

  public static byte[] text(ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return copy;
  }

  private static byte bit(ByteBuffer bits, int row) {
    return (byte) (bits.get(row >> 3) >> (row & 7) & 1);
  }
}
