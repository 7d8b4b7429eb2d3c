package io.jumpgate.ntf;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/** The other end of an edge, which can also misbehave: every frame is made first, and sent as it is or spoilt. */
public final class TestProducer implements AutoCloseable {
  private final Socket connection;
  private final Socket socket; // the same, or what encrypts it
  private final Expected expected;
  private final CRC32C frameSums = new CRC32C();
  private long rows;
  private long frames;

  TestProducer(Endpoint endpoint, Expected expected) throws IOException {
    this(endpoint.address(), expected);
  }

  private TestProducer(String endpoint, Expected expected) throws IOException {
    String[] address = endpoint.split(":");
    this.connection = new Socket(address[0], Integer.parseInt(address[1]));
    this.socket = expected.certificate() == null
        ? connection
        : expected.certificate().context().getSocketFactory().createSocket(connection, address[0], 0, true);
    this.socket.setSoTimeout(60_000);
    this.expected = expected;
  }

  /** Greets as expected and waits to be let in. */
  static TestProducer admitted(Endpoint endpoint, Expected expected, int producer) throws IOException {
    return admitted(endpoint.address(), expected, producer);
  }

  /** The same at an endpoint's address. */
  public static TestProducer admitted(String endpoint, Expected expected, int producer) throws IOException {
    TestProducer made = new TestProducer(endpoint, expected);
    made.send(made.hello(producer));
    if (made.reply() != null) {
      throw new AssertionError("refused");
    }
    return made;
  }

  byte[] hello(int producer) {
    Descriptor descriptor = expected.descriptor();
    return hello(producer, expected.partition(), expected.token(), expected.job(), expected.edge(),
        descriptor.fingerprint(), descriptor.text());
  }

  static byte[] hello(int producer, int partition, String... texts) {
    ByteArrayOutputStream payload = new ByteArrayOutputStream();
    payload.writeBytes(little(8).putInt(producer).putInt(partition).array());
    for (String text : texts) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      payload.writeBytes(little(4).putInt(bytes.length).array());
      payload.writeBytes(bytes);
    }
    return frame(FrameHeader.Kind.HELLO, 0, 0, payload.toByteArray());
  }

  /** The next DATA frame. */
  public byte[] data(List<List<Object>> values) {
    byte[] payload = FrameEncoder.payload(expected.descriptor(), values);
    return data(values.size(), payload);
  }

  byte[] data(int count, byte[] payload) {
    byte[] frame = frame(FrameHeader.Kind.DATA, count, frames, payload);
    rows += count;
    frames++;
    frameSums.update(frame, 28, 4);
    return frame;
  }

  /** Of the next DATA frame, to be sent before its payload. */
  byte[] header(int count, byte[] payload) {
    return Arrays.copyOf(data(count, payload), FrameHeader.BYTES);
  }

  public byte[] end() {
    return end(rows, frames, (int) frameSums.getValue());
  }

  byte[] end(long rows, long frames, int sum) {
    byte[] totals = little(20).putLong(rows).putLong(frames).putInt(sum).array();
    return frame(FrameHeader.Kind.END, 0, this.frames, totals);
  }

  static byte[] frame(FrameHeader.Kind kind, int rows, long sequence, byte[] payload) {
    return FrameHeader.frame(kind, rows, sequence, ByteBuffer.wrap(payload)).array();
  }

  public void send(byte[]... frames) throws IOException {
    for (byte[] frame : frames) {
      socket.getOutputStream().write(frame);
    }
  }

  /** Null for ACCEPT, else the code and sentence of an ERROR. Raises EOFException where the endpoint just closes. */
  String reply() throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    ByteBuffer raw = ByteBuffer.wrap(in.readNBytes(FrameHeader.BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    if (raw.capacity() < FrameHeader.BYTES) {
      throw new EOFException();
    }
    FrameHeader header = FrameHeader.parse(raw);
    ByteBuffer payload = ByteBuffer.wrap(in.readNBytes(header.length())).order(ByteOrder.LITTLE_ENDIAN);
    if (header.kind() == FrameHeader.Kind.ACCEPT) {
      return null;
    }
    byte[] code = new byte[payload.getInt(0)];
    payload.get(4, code);
    return new String(code, StandardCharsets.UTF_8) + ": " + Greeting.message(payload);
  }

  /** Whether the endpoint has closed the connection, once it has. */
  public boolean awaitClosed() throws IOException {
    try {
      return socket.getInputStream().readAllBytes() != null;
    } catch (SocketException reset) {
      return true;
    }
  }

  @Override
  public void close() throws IOException {
    connection.close(); // without a word
  }

  private static ByteBuffer little(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }
}
