package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Bytes that are not frames: each is refused with the reason, and nothing is kept. */
@Timeout(300)
class HostileFramesTest {
  private static final List<Field> FIELDS = List.of(new Field("k", DataType.INT32.withNullable(false)),
      new Field("s", DataType.STRING), new Field("b", DataType.BOOL));
  private static final Descriptor COLUMNAR = Descriptor.columnar(FIELDS);
  private static final Descriptor ROW = new Descriptor(Layout.ROW, ByteOrder.BIG_ENDIAN, true, 1, FIELDS);
  private static final List<List<Object>> ROWS =
      List.of(List.of(1L, "ab", true), Arrays.asList(2L, null, null), List.of(3L, "cde", false));

  // columnar payload: presence 0, k 64, validity of s 128, offsets 192, characters 256, validity of b 320, b 384; ends
  // at 448 row payload: tuples of 14 bytes (nulls 0, k 1, s 5 and 9, b 13), characters from 42; ends at 47

  static Stream<Arguments> headers() {
    return Stream.of(header("wrong magic number", h -> h.put(0, (byte) 'X')),
        header("version 2 of the tuple stream, here is version 1", h -> h.put(4, (byte) 2)),
        header("unknown kind 0", h -> h.put(5, (byte) 0)), header("unknown kind 6", h -> h.put(5, (byte) 6)),
        header("unknown flags", h -> h.put(7, (byte) 1)), header("unknown flags", h -> h.putInt(24, 1)),
        header("a frame of 0 rows; allowed are 1 to 1048576", h -> h.putInt(8, 0)),
        header("a frame of 1048577 rows", h -> h.putInt(8, 1048577)),
        header("a frame of 4294967295 rows", h -> h.putInt(8, -1)),
        header("a frame of 268435457 bytes; at most 268435456", h -> h.putInt(12, (1 << 28) + 1)),
        header("a frame of 4294967295 bytes", h -> h.putInt(12, -1)),
        header("a frame of 3 rows", h -> h.put(5, (byte) 4)),
        header("a frame of 1048577 bytes; at most 1048576",
            h -> h.put(5, (byte) 4).putInt(8, 0).putInt(12, (1 << 20) + 1)),
        header("do not match its checksum", h -> h.putInt(8, 2)),
        header("do not match its checksum", h -> h.putInt(28, 7)),
        header("do not match its checksum", h -> h.put(40, (byte) 7)));
  }

  private static Arguments header(String sentence, Consumer<ByteBuffer> spoil) {
    return Arguments.of(sentence, spoil);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("headers")
  void headersOutOfBounds(String sentence, Consumer<ByteBuffer> spoil) throws IOException {
    refused(COLUMNAR, sentence, producer -> {
      byte[] frame = producer.data(ROWS);
      spoil.accept(ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN));
      return frame;
    });
  }

  static Stream<Arguments> payloads() {
    return Stream.of(payload(COLUMNAR, "a frame too short for 'the presence bits'", b -> new byte[0]),
        payload(COLUMNAR, "a frame too short for 'k'", b -> Arrays.copyOf(b, 64)),
        payload(COLUMNAR, "a frame too short for 's'", b -> Arrays.copyOf(b, 256)),
        payload(COLUMNAR, "a frame too short for 'b'", b -> Arrays.copyOf(b, 447)),
        payload(COLUMNAR, "64 bytes too many", b -> Arrays.copyOf(b, 512)),
        payload(COLUMNAR, "NULLs in column 'k', which has none", b -> with(b, 0, 7)),
        payload(COLUMNAR, "offsets of column 's' that do not ascend from zero", b -> with(b, 192, 1)),
        payload(COLUMNAR, "offsets of column 's' that do not ascend from zero", b -> with(b, 196, 9)),
        payload(COLUMNAR, "offsets of column 's' that do not ascend from zero", b -> with(b, 199, 0x80)),
        payload(COLUMNAR, "offsets of column 's' that do not ascend from zero", b -> with(b, 207, 0xff)),
        payload(COLUMNAR, "a frame too short for 's'", b -> with(b, 206, 1)),
        payload(ROW, "a frame too short for its tuples", b -> Arrays.copyOf(b, 41)),
        payload(ROW, "NULLs in column 'k', which has none", b -> with(b, 14, 7)),
        payload(ROW, "strings that are not one after the other", b -> with(b, 8, 1)),
        payload(ROW, "strings that are not one after the other", b -> with(b, 12, 1)),
        payload(ROW, "strings that are not one after the other", b -> with(b, 9, 0x80)),
        payload(ROW, "strings that are not one after the other", b -> with(b, 40, 0xff)),
        payload(ROW, "strings that are not one after the other", b -> Arrays.copyOf(b, 46)),
        payload(ROW, "strings that are not one after the other", b -> Arrays.copyOf(b, 48)),
        payload(ROW, "a NULL string that has characters", b -> with(b, 0, 2)));
  }

  private interface Spoiler {
    byte[] of(byte[] payload);
  }

  private static Arguments payload(Descriptor descriptor, String sentence, Spoiler spoil) {
    return Arguments.of(descriptor, sentence, spoil);
  }

  private static byte[] with(byte[] bytes, int at, int value) {
    byte[] copy = bytes.clone();
    copy[at] = (byte) value;
    return copy;
  }

  @ParameterizedTest(name = "{1}")
  @MethodSource("payloads")
  void payloadsThatAreNone(Descriptor descriptor, String sentence, Spoiler spoil) throws IOException {
    refused(
        descriptor, sentence, producer -> producer.data(ROWS.size(), spoil.of(FrameEncoder.payload(descriptor, ROWS))));
  }

  static Stream<Arguments> ends() {
    return Stream.of(Arguments.of("the sender counts 4 rows, 3 came", end(4, 1, 0)),
        Arguments.of("the sender counts 18446744073709551615 rows, 3 came", end(-1, 1, 0)),
        Arguments.of("the end frame's totals do not match the stream", end(3, 2, 0)),
        Arguments.of("the end frame's totals do not match the stream", end(3, 1, 1)),
        Arguments.of("the end frame's totals do not match the stream",
            (Made) p -> TestProducer.frame(FrameHeader.Kind.END, 0, 1, new byte[19])),
        Arguments.of("frame 1 was expected, frame 0 came",
            (Made) p -> TestProducer.frame(FrameHeader.Kind.END, 0, 0, new byte[20])),
        Arguments.of("frame 1 was expected, frame 7 came",
            (Made) p -> TestProducer.frame(FrameHeader.Kind.DATA, 3, 7, FrameEncoder.payload(COLUMNAR, ROWS))),
        Arguments.of("a frame of kind HELLO after the handshake", (Made) p -> p.hello(0)),
        Arguments.of(
            "a malformed error frame", (Made) p -> TestProducer.frame(FrameHeader.Kind.ERROR, 0, 0, new byte[9])));
  }

  private static Made end(long rows, long frames, int sumChange) {
    return producer -> {
      byte[] right = producer.end();
      int sum = ByteBuffer.wrap(right).order(ByteOrder.LITTLE_ENDIAN).getInt(FrameHeader.BYTES + 16);
      return producer.end(rows, frames, sum + sumChange);
    };
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("ends")
  void endsThatDoNotMatch(String sentence, Made made) throws IOException {
    try (Received received = new Received(COLUMNAR)) {
      received.producer.send(received.producer.data(ROWS));
      received.producer.send(made.by(received.producer));
      assertEquals(ROWS, received.next());
      assertTrue(received.failure().contains(sentence), received.failure());
    }
  }

  /** Spoilt payloads with right checksums: read as something, or refused; never more than what came. */
  @ParameterizedTest
  @EnumSource(Layout.class)
  void anyBytes(Layout layout) throws IOException {
    Descriptor descriptor = layout == Layout.COLUMNAR ? COLUMNAR : ROW;
    byte[] payload = FrameEncoder.payload(descriptor, ROWS);
    Random random = new Random(11);
    int refused = 0;
    for (int round = 0; round < 400; round++) {
      byte[] spoilt = random.nextInt(4) == 0 ? Arrays.copyOf(payload, random.nextInt(600)) : payload.clone();
      for (int i = random.nextInt(3); i >= 0 && spoilt.length > 0; i--) {
        spoilt[random.nextInt(spoilt.length)] = (byte) random.nextInt(256);
      }
      try (Received received = new Received(descriptor)) {
        received.producer.send(received.producer.data(1 + random.nextInt(4), spoilt));
        assertTrue(received.next().size() <= 4);
      } catch (JumpgateException error) {
        assertEquals("protocol", error.code());
        refused++;
      }
    }
    assertTrue(refused > 100 && refused < 400, refused + " were refused");
  }

  private interface Made {
    byte[] by(TestProducer producer);
  }

  private static void refused(Descriptor descriptor, String sentence, Made made) throws IOException {
    try (Received received = new Received(descriptor)) {
      received.producer.send(made.by(received.producer));
      assertTrue(received.failure().contains("edge 'e1': producer 0: "), received.failure());
      assertTrue(received.failure().contains(sentence), received.failure());
    }
  }

  /** An endpoint with one producer; everything is given back when it closes. */
  private static final class Received implements AutoCloseable {
    final TestProducer producer;
    private final CountingAccount account = new CountingAccount(400 << 20);
    private final Endpoint endpoint;
    private final Descriptor descriptor;
    private String failure;

    Received(Descriptor descriptor) throws IOException {
      this.descriptor = descriptor;
      endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account);
      Expected expected = new Expected("j", "e1", "t", descriptor, 1, 0);
      endpoint.expect(expected);
      producer = TestProducer.admitted(endpoint, expected, 0);
    }

    List<List<Object>> next() {
      try (Frame frame = endpoint.next()) {
        return new ArrayList<>(FrameValues.of(frame, descriptor));
      }
    }

    String failure() {
      if (failure == null) {
        JumpgateException error = assertThrows(JumpgateException.class, endpoint::next);
        assertEquals("protocol", error.code(), error.getMessage());
        failure = error.getMessage();
      }
      return failure;
    }

    @Override
    public void close() throws IOException {
      producer.close();
      endpoint.close();
      assertEquals(0, account.held());
    }
  }
}
