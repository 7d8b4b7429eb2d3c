package io.jumpgate.ntf;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** A frame's rows as values that JSON holds: numbers are decimal text, floats their bits, binary hex. */
public final class FrameJson {
  private FrameJson() {}

  public static List<List<Object>> rows(Frame frame, Descriptor descriptor) {
    List<List<Object>> out = new ArrayList<>();
    for (List<Object> row : FrameValues.of(frame, descriptor)) {
      List<Object> values = new ArrayList<>();
      row.forEach(value -> values.add(value(value)));
      out.add(values);
    }
    return out;
  }

  private static Object value(Object value) {
    if (value instanceof Float number) {
      return String.valueOf(Float.floatToRawIntBits(number));
    }
    if (value instanceof Double number) {
      return String.valueOf(Double.doubleToRawLongBits(number));
    }
    if (value instanceof ByteBuffer bytes) {
      return HexFormat.of().formatHex(bytes.array());
    }
    return value instanceof Number ? value.toString() : value;
  }
}
