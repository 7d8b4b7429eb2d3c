package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The values of {@link FrameValues} as a frame's payload: the specification once more, as plainly as it can be said.
 */
final class FrameEncoder {
  private FrameEncoder() {}

  static byte[] payload(Descriptor descriptor, List<List<Object>> rows) {
    return descriptor.layout() == Layout.COLUMNAR ? columnar(descriptor.fields(), rows) : row(descriptor, rows);
  }

  private static byte[] columnar(List<Field> fields, List<List<Object>> rows) {
    byte[] presence = new byte[(fields.size() + 7) / 8];
    ByteArrayOutputStream columns = new ByteArrayOutputStream();
    for (int i = 0; i < fields.size(); i++) {
      int column = i;
      if (rows.stream().anyMatch(row -> row.get(column) == null)) {
        presence[i / 8] |= (byte) (1 << i % 8);
        pad(columns, bits(rows, row -> row.get(column) != null));
      }
      DataType type = fields.get(i).type();
      if (type.kind() == DataType.Kind.BOOL) {
        pad(columns, bits(rows, row -> Boolean.TRUE.equals(row.get(column))));
      } else if (type.isText()) {
        ByteBuffer offsets = ByteBuffer.allocate(4 * rows.size() + 4).order(ByteOrder.LITTLE_ENDIAN).putInt(0);
        ByteArrayOutputStream characters = new ByteArrayOutputStream();
        for (List<Object> row : rows) {
          characters.writeBytes(text(row.get(column)));
          offsets.putInt(characters.size());
        }
        pad(columns, offsets.array());
        pad(columns, characters.toByteArray());
      } else {
        int width = type.kind() == DataType.Kind.DECIMAL ? 16 : type.width();
        ByteArrayOutputStream values = new ByteArrayOutputStream();
        rows.forEach(row -> values.writeBytes(fixed(row.get(column), width, ByteOrder.LITTLE_ENDIAN)));
        pad(columns, values.toByteArray());
      }
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    pad(out, presence);
    out.writeBytes(columns.toByteArray());
    return out.toByteArray();
  }

  private static byte[] row(Descriptor descriptor, List<List<Object>> rows) {
    RowLayout layout = new RowLayout(descriptor);
    ByteBuffer tuples = ByteBuffer.allocate(layout.stride() * rows.size()).order(descriptor.byteOrder());
    ByteArrayOutputStream section = new ByteArrayOutputStream();
    for (int row = 0; row < rows.size(); row++) {
      int start = row * layout.stride();
      for (int i = 0; i < descriptor.fields().size(); i++) {
        DataType type = descriptor.fields().get(i).type();
        Object value = rows.get(row).get(i);
        if (value == null) {
          tuples.put(start + i / 8, (byte) (tuples.get(start + i / 8) | 1 << i % 8));
        }
        if (type.isText()) {
          tuples.putInt(start + layout.offset(i), section.size());
          section.writeBytes(text(value));
          tuples.putInt(start + layout.offset(i) + 4, text(value).length);
        } else {
          tuples.put(start + layout.offset(i), fixed(value, type.width(), descriptor.byteOrder()));
        }
      }
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(tuples.array());
    out.writeBytes(section.toByteArray());
    return out.toByteArray();
  }

  private interface Test {
    boolean of(List<Object> row);
  }

  private static byte[] bits(List<List<Object>> rows, Test test) {
    byte[] bits = new byte[(rows.size() + 7) / 8];
    for (int row = 0; row < rows.size(); row++) {
      if (test.of(rows.get(row))) {
        bits[row / 8] |= (byte) (1 << row % 8);
      }
    }
    return bits;
  }

  private static byte[] fixed(Object value, int width, ByteOrder order) {
    BigInteger bits = BigInteger.ZERO;
    if (value instanceof Boolean truth) {
      bits = truth ? BigInteger.ONE : BigInteger.ZERO;
    } else if (value instanceof Float number) {
      bits = BigInteger.valueOf(Float.floatToRawIntBits(number));
    } else if (value instanceof Double number) {
      bits = BigInteger.valueOf(Double.doubleToRawLongBits(number));
    } else if (value != null) {
      bits = new BigInteger(value.toString());
    }
    byte[] out = new byte[width];
    for (int i = 0; i < width; i++) {
      out[order == ByteOrder.LITTLE_ENDIAN ? i : width - 1 - i] = bits.shiftRight(8 * i).byteValue();
    }
    return out;
  }

  private static byte[] text(Object value) {
    if (value instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.get(bytes.position(), copy);
      return copy;
    }
    return value == null ? new byte[0] : ((String) value).getBytes(StandardCharsets.UTF_8);
  }

  private static void pad(ByteArrayOutputStream out, byte[] buffer) {
    out.writeBytes(buffer);
    out.writeBytes(new byte[(64 - buffer.length % 64) % 64]);
  }
}
