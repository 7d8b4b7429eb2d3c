package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.List;
import java.util.Map;

/** Finds the columns in a columnar payload, and checks all that memory safety needs. */
final class ColumnarLayout {
  private static final int ALIGNMENT = 64;
  private static final int DECIMAL_WIDTH = 16;

  private final String[] names;
  private final boolean[] nullable;
  private final boolean[] text;
  private final int[] bits; // of one value; of text those of its offset

  ColumnarLayout(List<Field> fields) {
    int count = fields.size();
    names = new String[count];
    nullable = new boolean[count];
    text = new boolean[count];
    bits = new int[count];
    for (int i = 0; i < count; i++) {
      DataType type = fields.get(i).type();
      names[i] = fields.get(i).name();
      nullable[i] = type.nullable();
      text[i] = type.isText();
      bits[i] = switch (type.kind()) {
        case BOOL -> 1;
        case DECIMAL -> 8 * DECIMAL_WIDTH;
        case STRING, BINARY -> 32;
        default -> 8 * type.width();
      };
    }
  }

  /** Raises {@code protocol} where the payload does not hold such columns. */
  ColumnarFrame wrap(FrameBuffer buffer, int rows) {
    Cursor cursor = new Cursor(buffer);
    Slice presence = cursor.take((names.length + 7L) / 8, "the presence bits");
    ByteBuffer present = presence.bytes();
    ColumnarFrame.Column[] columns = new ColumnarFrame.Column[names.length];
    for (int i = 0; i < columns.length; i++) {
      Slice validity = null;
      if ((present.get(i >> 3) >> (i & 7) & 1) != 0) {
        if (!nullable[i]) {
          throw wrong("NULLs in column '" + names[i] + "', which has none", i);
        }
        validity = cursor.take((rows + 7L) / 8, names[i]);
      }
      Slice offsets = text[i] ? cursor.take(4L * rows + 4, names[i]) : null;
      long size = text[i] ? characters(offsets, rows, i) : ((long) rows * bits[i] + 7) / 8;
      columns[i] = new ColumnarFrame.Column(validity, offsets, cursor.take(size, names[i]));
    }
    if (cursor.at != buffer.length()) {
      throw new JumpgateException(PROTOCOL, (buffer.length() - cursor.at) + " bytes too many in a frame");
    }
    return new ColumnarFrame(buffer, rows, columns);
  }

  /** How many characters there are. Offsets that leave them would be read out of bounds later. */
  private int characters(Slice offsets, int rows, int column) {
    IntBuffer ends = offsets.bytes().asIntBuffer();
    int falls = ends.get(0); // negative once an offset is less than the one before, or than 0
    if (falls == 0) {
      int before = 0;
      for (int i = 1; i <= rows; i++) {
        int end = ends.get(i);
        falls |= end | end - before;
        before = end;
      }
      if (falls >= 0) {
        return before;
      }
    }
    throw wrong("offsets of column '" + names[column] + "' that do not ascend from zero", column);
  }

  private JumpgateException wrong(String what, int column) {
    return new JumpgateException(PROTOCOL, what, Map.of("column", names[column]));
  }

  /** Hands out one piece of a payload after the other. */
  private static final class Cursor {
    private final FrameBuffer buffer;
    private long at;

    Cursor(FrameBuffer buffer) {
      this.buffer = buffer;
    }

    Slice take(long length, String what) {
      long start = at;
      at += (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      if (at > buffer.length()) {
        throw new JumpgateException(PROTOCOL, "a frame too short for '" + what + "'");
      }
      return new Slice(buffer, (int) start, (int) length);
    }
  }
}
