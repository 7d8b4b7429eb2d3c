package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * A struct, list or map, which travels as one value of a binary column (jumpgate/ntf/README.md, "Nested values"): a
 * view that finds a part without reading the others. Parts are a struct's fields, a list's elements, or a map's
 * entries, each a struct of key and value. Raises {@code protocol} where the bytes are not such a value.
 */
public final class NestedValue {
  private static final int END_BYTES = 4;

  /** What is worked out once for a type: where the slots of its values are. */
  public static final class Shape {
    private final DataType.Nested type;
    private final boolean counted; // a list or a map
    private final Part[] parts; // one, of all elements, if it is counted

    /** A slot: its place among a struct's; of text the struct's text before it, or -1. */
    private record Part(DataType type, int width, boolean text, int place, int textBefore, Shape nested) {}

    private Shape(DataType.Nested type) {
      this.type = type;
      counted = type.kind() != DataType.Kind.STRUCT;
      List<Field> fields = type.kind() == DataType.Kind.MAP ? List.of(entry(type)) : type.parts();
      parts = new Part[fields.size()];
      int place = 0;
      int textBefore = -1;
      for (int i = 0; i < parts.length; i++) {
        DataType part = fields.get(i).type();
        int width = part.isText() ? END_BYTES : part.width();
        Shape nested = part instanceof DataType.Nested deeper ? new Shape(deeper) : null;
        parts[i] = new Part(part, width, part.isText(), place, textBefore, nested);
        textBefore = part.isText() ? i : textBefore;
        place += width;
      }
    }

    /** Of a type that a request declares; its values are binary on the edge. */
    public static Shape of(DataType.Nested type) {
      return new Shape(type);
    }

    /** The value whose bytes these are, from position to limit. */
    public NestedValue value(ByteBuffer bytes) {
      return new NestedValue(this, bytes.slice().order(ByteOrder.LITTLE_ENDIAN));
    }

    private static Field entry(DataType.Nested map) {
      return new Field("entry", new DataType.Nested(DataType.Kind.STRUCT, map.parts(), false));
    }

    private Part part(int index) {
      return parts[counted ? 0 : index];
    }
  }

  private final Shape shape;
  private final ByteBuffer bytes;
  private final int size;
  private final int presence;
  private final int slots;
  private final int values;

  private NestedValue(Shape shape, ByteBuffer bytes) {
    this.shape = shape;
    this.bytes = bytes;
    long slotBytes = 0;
    if (shape.counted) {
      require(bytes.capacity() >= END_BYTES);
      size = bytes.getInt(0);
      require(size >= 0 && size <= 8L * bytes.capacity());
      presence = END_BYTES;
      slotBytes = (long) size * shape.part(0).width();
    } else {
      size = shape.parts.length;
      presence = 0;
      for (Shape.Part part : shape.parts) {
        slotBytes += part.width();
      }
    }
    slots = presence + (size + 7) / 8;
    require(slots + slotBytes <= bytes.capacity());
    values = (int) (slots + slotBytes);
  }

  /** How many parts it has. */
  public int size() {
    return size;
  }

  public DataType.Nested type() {
    return shape.type;
  }

  public boolean isNull(int part) {
    return (bytes.get(presence + part / 8) >> part % 8 & 1) == 0;
  }

  /**
   * The bytes of a part that is not NULL, little endian: a number, or those of text. A decimal has its own width, 8
   * or 16.
   */
  public ByteBuffer part(int part) {
    Shape.Part found = shape.part(part);
    int slot = slot(part);
    if (!found.text()) {
      return bytes.slice(slot, found.width()).order(ByteOrder.LITTLE_ENDIAN);
    }
    int before = shape.counted ? part - 1 : found.textBefore();
    int start = before < 0 ? values : bytes.getInt(slot(before));
    int end = bytes.getInt(slot);
    require(start >= values && start <= end && end <= bytes.capacity());
    return bytes.slice(start, end - start).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A part that is a struct, list or map itself, and not NULL. */
  public NestedValue nested(int part) {
    return shape.part(part).nested().value(part(part));
  }

  private int slot(int part) {
    return slots + (shape.counted ? part * shape.part(0).width() : shape.part(part).place());
  }

  private void require(boolean holds) {
    if (!holds) {
      throw new JumpgateException(PROTOCOL, "bytes that are not a " + shape.type.name());
    }
  }
}
