package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Where the bytes of a row tuple are. A tuple takes {@link #stride} bytes: the null bit vector (field i in byte i / 8,
 * bit i % 8, 1 = NULL; packed tuples have none if no field may be NULL), then the fields at their offsets. Text is two
 * uint32: where it starts in the section after all tuples, and its length.
 */
public final class RowLayout {
  private static final int TEXT_ALIGNMENT = 4;

  private final Descriptor descriptor;
  private final int[] offsets;
  private final int nullBytes;
  private final int stride;
  private final int[] texts;

  public RowLayout(Descriptor descriptor) {
    if (descriptor.layout() != Layout.ROW) {
      throw new IllegalArgumentException("a descriptor of layout " + descriptor.layout().text());
    }
    this.descriptor = descriptor;
    List<Field> fields = descriptor.fields();
    offsets = new int[fields.size()];
    List<Integer> found = new ArrayList<>();
    boolean neverNull = fields.stream().noneMatch(field -> field.type().nullable());
    nullBytes = descriptor.packed() && neverNull ? 0 : (fields.size() + 7) / 8;
    int at = nullBytes;
    for (int i = 0; i < offsets.length; i++) {
      DataType type = fields.get(i).type();
      int natural = type.isText() ? TEXT_ALIGNMENT : type.width();
      offsets[i] = roundUp(at, Math.min(natural, descriptor.alignment()));
      at = offsets[i] + type.width();
      if (type.isText()) {
        found.add(i);
      }
    }
    stride = roundUp(at, descriptor.alignment());
    texts = found.stream().mapToInt(Integer::intValue).toArray();
  }

  public Descriptor descriptor() {
    return descriptor;
  }

  /** Bytes of a tuple, without its text. */
  public int stride() {
    return stride;
  }

  /** Of a field in its tuple. */
  public int offset(int field) {
    return offsets[field];
  }

  /** Raises {@code protocol} where the payload does not hold such tuples. */
  RowFrame wrap(FrameBuffer buffer, int rows) {
    long section = (long) stride * rows;
    if (section > buffer.length()) {
      throw new JumpgateException(PROTOCOL, "a frame too short for its tuples");
    }
    ByteBuffer bytes = buffer.bytes().order(descriptor.byteOrder());
    checkNulls(bytes, rows);
    long end = 0;
    for (int row = 0; row < rows; row++) {
      for (int field : texts) {
        int at = row * stride + offsets[field];
        int length = bytes.getInt(at + 4);
        if (bytes.getInt(at) != end || length < 0) {
          throw new JumpgateException(PROTOCOL, "strings that are not one after the other in the variable section");
        }
        if (length != 0 && isNull(bytes, row, field)) {
          throw new JumpgateException(PROTOCOL, "a NULL string that has characters");
        }
        end += length;
      }
    }
    if (section + end != buffer.length()) {
      throw new JumpgateException(PROTOCOL, "strings that are not one after the other in the variable section");
    }
    return new RowFrame(buffer, rows);
  }

  private void checkNulls(ByteBuffer bytes, int rows) {
    List<Field> fields = descriptor.fields();
    for (int at = 0; at < nullBytes; at++) {
      int never = 0;
      for (int i = 8 * at; i < Math.min(fields.size(), 8 * at + 8); i++) {
        never |= fields.get(i).type().nullable() ? 0 : 1 << i % 8;
      }
      int found = 0;
      for (int row = 0; row < rows; row++) {
        found |= bytes.get(row * stride + at);
      }
      if ((found & never) != 0) {
        String name = fields.get(8 * at + Integer.numberOfTrailingZeros(found & never)).name();
        throw new JumpgateException(PROTOCOL, "NULLs in column '" + name + "', which has none", Map.of("column", name));
      }
    }
  }

  private boolean isNull(ByteBuffer bytes, int row, int field) {
    return nullBytes > 0 && (bytes.get(row * stride + field / 8) >> field % 8 & 1) != 0;
  }

  private static int roundUp(int size, int to) {
    return (size + to - 1) / to * to;
  }
}
