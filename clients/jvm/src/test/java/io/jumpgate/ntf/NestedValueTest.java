package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NestedValueTest {
  private static final DataType.Nested LIST = (DataType.Nested) DataType.list(DataType.INT16);
  private static final DataType.Nested STRUCT = (DataType.Nested) DataType.struct(
      List.of(new Field("a", DataType.INT32), new Field("b", DataType.STRING), new Field("c", LIST)));
  private static final DataType.Nested MAP = (DataType.Nested) DataType.map(DataType.STRING, DataType.decimal(20, 0));

  private static ByteBuffer hex(String text) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(text.replace(" ", "")));
  }

  private static String text(ByteBuffer bytes) {
    return StandardCharsets.UTF_8.decode(bytes).toString();
  }

  /** The example of the specification. */
  @Test
  void structs() {
    NestedValue value = NestedValue.Shape.of(STRUCT).value(hex("03 07000000 0f000000 0f000000 7879"));
    assertEquals(3, value.size());
    assertEquals(7, value.part(0).getInt(0));
    assertEquals("xy", text(value.part(1)));
    assertFalse(value.isNull(1));
    assertTrue(value.isNull(2));
  }

  @Test
  void listsInStructs() {
    NestedValue value = NestedValue.Shape.of(STRUCT).value(hex("05 ffffffff 0d000000 18000000"
        + "03000000 05 0100 0000 feff"));
    assertEquals(-1, value.part(0).getInt(0));
    assertTrue(value.isNull(1));
    NestedValue list = value.nested(2);
    assertEquals(LIST, list.type());
    assertEquals(3, list.size());
    assertEquals(1, list.part(0).getShort(0));
    assertTrue(list.isNull(1));
    assertEquals(-2, list.part(2).getShort(0));
  }

  @Test
  void maps() {
    NestedValue empty = NestedValue.Shape.of(MAP).value(hex("00000000"));
    assertEquals(0, empty.size());
    // two entries: an entry has 1 byte of presence, a slot of the key's end and one of 16 bytes, then the key
    String x = "03 16000000 09000000000000000000000000000000 78";
    String none = "01 15000000 00000000000000000000000000000000";
    NestedValue value = NestedValue.Shape.of(MAP).value(hex("02000000 03 23000000 38000000" + x + none));
    assertEquals(2, value.size());
    assertEquals("x", text(value.nested(0).part(0)));
    assertEquals(9, value.nested(0).part(1).getLong(0));
    assertEquals("", text(value.nested(1).part(0)));
    assertTrue(value.nested(1).isNull(1));
  }

  @Test
  void bytesThatAreNone() {
    for (String wrong : List.of("", "03 07000000 0f000000 0f0000", "03 07000000 10000000 0f000000 7879",
             "03 07000000 0c000000 0f000000 7879")) {
      JumpgateException error =
          assertThrows(JumpgateException.class, () -> NestedValue.Shape.of(STRUCT).value(hex(wrong)).part(1), wrong);
      assertEquals("protocol", error.code());
    }
    for (String wrong : List.of("000000", "ffffffff", "ffffff7f", "01000000", "02000000 03 010002")) {
      assertThrows(JumpgateException.class, () -> NestedValue.Shape.of(LIST).value(hex(wrong)), wrong);
    }
  }

  /** Whatever the bytes, there are parts within them or an error. */
  @Test
  void anyBytes() {
    Random random = new Random(5);
    byte[] right = hex("05 ffffffff 0d000000 18000000 03000000 05 0100 0000 feff").array();
    NestedValue.Shape shape = NestedValue.Shape.of(STRUCT);
    int refused = 0;
    for (int round = 0; round < 5000; round++) {
      byte[] spoilt = Arrays.copyOf(right, random.nextInt(4) == 0 ? random.nextInt(40) : right.length);
      for (int i = 0; i < 2 && spoilt.length > 0; i++) {
        spoilt[random.nextInt(spoilt.length)] = (byte) random.nextInt(256);
      }
      try {
        NestedValue value = shape.value(ByteBuffer.wrap(spoilt));
        assertTrue(value.part(1).remaining() <= spoilt.length);
        NestedValue list = value.nested(2);
        for (int i = 0; i < list.size(); i++) {
          assertEquals(2, list.part(i).remaining());
        }
      } catch (JumpgateException error) {
        refused++;
      }
    }
    assertTrue(refused > 1000 && refused < 5000, refused + " were refused");
  }
}
