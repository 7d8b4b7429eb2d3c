package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class HeapColumnTest {
  private static final DataType LISTS = DataType.list(DataType.INT16);
  private static final DataType STRUCT =
      DataType.struct(List.of(new Field("a", DataType.INT32), new Field("b", DataType.STRING), new Field("c", LISTS)));

  /** A column of values; null for NULL. */
  private static HeapColumn column(DataType type, Object... values) {
    Descriptor descriptor = Descriptor.columnar(List.of(new Field("c", type)));
    List<List<Object>> rows = Arrays.stream(values).map(Arrays::asList).toList();
    byte[] payload = FrameEncoder.payload(descriptor, rows);
    try (ColumnarFrame frame = ColumnarFrame.of(descriptor, payload, values.length)) {
      return HeapColumn.of(type, frame.column(0), values.length);
    }
  }

  private static ByteBuffer hex(String text) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(text.replace(" ", "")));
  }

  @Test
  void valuesWithoutParts() {
    assertArrayEquals(new byte[] {1, 0}, column(DataType.BOOL, true, false).bytes());
    assertArrayEquals(new byte[] {-128, 127}, column(DataType.INT8, -128, 127).bytes());
    assertArrayEquals(new short[] {-2, 300}, column(DataType.INT16, -2, 300).shorts());
    assertArrayEquals(new int[] {7, Integer.MIN_VALUE}, column(DataType.DATE, 7, Integer.MIN_VALUE).ints());
    assertArrayEquals(new long[] {Long.MAX_VALUE, -1}, column(DataType.TIMESTAMP, Long.MAX_VALUE, -1).longs());
    assertArrayEquals(new long[] {-5, 9}, column(DataType.decimal(18, 2), -5, 9).longs());
    assertArrayEquals(new long[] {-5, -1, 9, 0}, column(DataType.decimal(19, 2), -5, 9).longs());
    assertNull(column(DataType.INT8, 1).nulls());
    HeapColumn texts = column(DataType.STRING, "é", null, "", "xy");
    assertArrayEquals(new boolean[] {false, true, false, false}, texts.nulls());
    assertArrayEquals(new int[] {0, 2, 2, 2, 4}, texts.offsets());
    assertEquals(4, texts.bytes().length);
  }

  @Test
  void structsOfLists() {
    HeapColumn found = column(STRUCT, hex("05 ffffffff 0d000000 18000000 03000000 05 0100 0000 feff"), null,
        hex("03 07000000 0f000000 0f000000 7879"));
    assertArrayEquals(new boolean[] {false, true, false}, found.nulls());
    HeapColumn numbers = found.parts().get(0);
    assertArrayEquals(new int[] {-1, 0, 7}, numbers.ints());
    assertArrayEquals(new boolean[] {false, true, false}, numbers.nulls());
    HeapColumn texts = found.parts().get(1);
    assertArrayEquals(new boolean[] {true, true, false}, texts.nulls());
    assertArrayEquals(new int[] {0, 0, 0, 2}, texts.offsets());
    HeapColumn lists = found.parts().get(2);
    assertArrayEquals(new boolean[] {false, true, true}, lists.nulls());
    assertArrayEquals(new int[] {0, 3, 3, 3}, lists.offsets());
    assertArrayEquals(new short[] {1, 0, -2}, lists.parts().get(0).shorts());
    assertArrayEquals(new boolean[] {false, true, false}, lists.parts().get(0).nulls());
  }

  @Test
  void maps() {
    String x = "03 16000000 09000000000000000000000000000000 78";
    String none = "01 15000000 00000000000000000000000000000000";
    HeapColumn found = column(DataType.map(DataType.STRING, DataType.decimal(20, 0)), hex("00000000"),
        hex("02000000 03 23000000 38000000" + x + none));
    assertNull(found.nulls());
    assertArrayEquals(new int[] {0, 0, 2}, found.offsets());
    assertArrayEquals(new int[] {0, 1, 1}, found.parts().get(0).offsets());
    assertArrayEquals(new long[] {9, 0, 0, 0}, found.parts().get(1).longs());
    assertArrayEquals(new boolean[] {false, true}, found.parts().get(1).nulls());
  }

  /** More than a builder has room for at first. */
  @Test
  void manyLists() {
    Object[] lists = new Object[1000];
    Arrays.setAll(lists, i -> i % 3 == 0 ? null : hex("02000000 01 %02x%02x 0000".formatted(i & 255, i >> 8)));
    HeapColumn found = column(LISTS, lists);
    HeapColumn elements = found.parts().get(0);
    int at = 0;
    for (int i = 0; i < lists.length; i++) {
      assertEquals(i % 3 == 0, found.isNull(i));
      assertEquals(at, found.offsets()[i]);
      if (i % 3 != 0) {
        assertEquals(i, elements.shorts()[at]);
        assertEquals(true, elements.isNull(at + 1));
        at += 2;
      }
    }
    assertEquals(at, elements.count());
  }

  @Test
  void bytesThatAreNone() {
    for (String wrong : List.of("", "03 07000000 10000000 0f000000 7879", "07 07000000 0d000000 11000000 ffffff7f")) {
      JumpgateException error = assertThrows(JumpgateException.class, () -> column(STRUCT, hex(wrong)), wrong);
      assertEquals("protocol", error.code());
    }
  }
}
