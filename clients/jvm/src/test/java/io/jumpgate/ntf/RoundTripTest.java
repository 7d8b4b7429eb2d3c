package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is decoded is what was encoded: random formats, random rows. */
@Timeout(300)
class RoundTripTest {
  private static final List<DataType> TYPES = List.of(DataType.BOOL, DataType.INT8, DataType.INT16, DataType.INT32,
      DataType.INT64, DataType.FLOAT32, DataType.FLOAT64, DataType.DATE, DataType.TIME, DataType.TIMESTAMP,
      DataType.TIMESTAMP_NS, DataType.STRING, DataType.BINARY, DataType.decimal(7, 2), DataType.decimal(18, 18),
      DataType.decimal(19, 0), DataType.decimal(38, 10), DataType.timestamptz("Europe/Berlin"), DataType.duration("ms"),
      DataType.list(DataType.INT32));

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void randomFormats(int seed) throws IOException {
    Random random = new Random(seed);
    List<Field> fields = new ArrayList<>();
    for (int i = random.nextInt(12); i >= 0; i--) {
      DataType type = TYPES.get(random.nextInt(TYPES.size())).withNullable(random.nextInt(4) > 0);
      fields.add(new Field("f" + i, type));
    }
    for (Descriptor descriptor : layouts(fields, random)) {
      check(descriptor, random, 3, 300);
    }
  }

  /** More fields than one generated method reads, beyond offsets that fit a short. */
  @Test
  void manyFields() throws IOException {
    List<Field> fields = new ArrayList<>();
    for (int i = 0; i < 5000; i++) {
      fields.add(new Field("f" + i, TYPES.get(i % TYPES.size())));
    }
    for (Descriptor descriptor : layouts(fields, new Random(1))) {
      check(descriptor, new Random(2), 1, 2);
    }
  }

  private static List<Descriptor> layouts(List<Field> fields, Random random) {
    ByteOrder order = random.nextBoolean() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    return List.of(Descriptor.columnar(fields), new Descriptor(Layout.ROW, order, true, 1, fields),
        new Descriptor(Layout.ROW, ByteOrder.LITTLE_ENDIAN, false, 2 << random.nextInt(6), fields),
        new Descriptor(Layout.ROW, ByteOrder.BIG_ENDIAN, false, 8, fields));
  }

  private static void check(Descriptor descriptor, Random random, int frames, int rowsMax) throws IOException {
    assertEquals(descriptor, Descriptor.parse(descriptor.text()));
    CountingAccount account = new CountingAccount(Long.MAX_VALUE);
    Expected expected = new Expected("j", "e", "t", descriptor, 1, 0);
    try (Endpoint endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account)) {
      endpoint.expect(expected);
      try (TestProducer producer = TestProducer.admitted(endpoint, expected, 0)) {
        for (int i = 0; i < frames; i++) {
          List<List<Object>> rows = new ArrayList<>();
          for (int row = random.nextInt(rowsMax); row >= 0; row--) {
            List<Object> values = new ArrayList<>();
            descriptor.fields().forEach(field -> values.add(value(field.type(), random)));
            rows.add(values);
          }
          Thread sender = sending(producer, producer.data(rows));
          try (Frame frame = endpoint.next()) {
            assertEquals(rows, FrameValues.of(frame, descriptor), descriptor.text());
            if (frame instanceof ColumnarFrame) {
              checkCopy(frame, descriptor, rows);
            }
          }
          join(sender);
        }
        producer.send(producer.end());
        assertEquals(null, endpoint.next());
      }
    }
    assertEquals(0, account.held());
  }

  private static void checkCopy(Frame frame, Descriptor descriptor, List<List<Object>> rows) {
    byte[] bytes = new byte[frame.buffer().length()];
    frame.buffer().bytes().get(bytes);
    try (Frame copy = ColumnarFrame.of(descriptor, bytes, frame.rows())) {
      assertEquals(rows, FrameValues.of(copy, descriptor));
    }
  }

  private static Thread sending(TestProducer producer, byte[] frame) {
    Thread thread = new Thread(() -> {
      try {
        producer.send(frame);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    });
    thread.start();
    return thread;
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Object value(DataType type, Random random) {
    if (type.nullable() && random.nextInt(5) == 0) {
      return null;
    }
    return switch (type.kind()) {
      case BOOL -> random.nextBoolean();
      case INT8 -> (long) (byte) random.nextInt();
      case INT16 -> (long) (short) random.nextInt();
      case INT32, DATE -> (long) random.nextInt();
      case FLOAT32 -> random.nextFloat() - 0.5f;
      case FLOAT64 -> random.nextGaussian();
      case DECIMAL ->
        new BigInteger(type.width() == 8 ? 59 : 126, random)
            .multiply(BigInteger.valueOf(random.nextBoolean() ? 1 : -1));
      case STRING -> "é𝄞x".repeat(random.nextInt(4));
      case BINARY -> {
        byte[] bytes = new byte[random.nextInt(20)];
        random.nextBytes(bytes);
        yield ByteBuffer.wrap(bytes);
      }
      default -> random.nextLong();
    };
  }
}
