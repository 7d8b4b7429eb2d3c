package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.Defaults;
import io.jumpgate.JumpgateException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Map;

/** What a producer says about itself: its index among the producers, and the consumer (partition) that it means. */
record Greeting(int producer, int partition, String token, String job, String edge, String fingerprint, String text) {
  private static final int CODE_MAX = Defaults.ERROR_CODE_BYTES_MAX;
  private static final int MESSAGE_MAX = Defaults.ERROR_MESSAGE_BYTES_MAX;

  /** Of a HELLO's payload; raises {@code protocol}. */
  static Greeting parse(ByteBuffer payload) {
    try {
      Greeting greeting = new Greeting(payload.getInt(), payload.getInt(), text(payload), text(payload), text(payload),
          text(payload), text(payload));
      if (!payload.hasRemaining()) {
        return greeting;
      }
    } catch (BufferUnderflowException e) {
      // said below
    }
    throw new JumpgateException(PROTOCOL, "a malformed greeting");
  }

  /** Whether it is from the job that is expected; who does not know its token is a stranger. */
  boolean isOf(Expected expected) {
    boolean knowsToken = MessageDigest.isEqual(
        token.getBytes(StandardCharsets.UTF_8), expected.token().getBytes(StandardCharsets.UTF_8));
    return knowsToken && job.equals(expected.job());
  }

  /** Past the token: whoever disagrees belongs to the job, so that both ends fail. Raises {@code protocol}. */
  void agree(Expected expected) {
    String problem = null;
    if (!edge.equals(expected.edge())) {
      problem = "edge '" + edge + "' does not end here";
    } else if (!text.equals(expected.descriptor().text()) || !fingerprint.equals(expected.descriptor().fingerprint())) {
      String difference = expected.descriptor().firstDifference(text);
      problem = "the ends disagree on the tuple format: " + (difference == null ? "fingerprint" : difference);
    } else if (partition != expected.partition()) {
      problem =
          "partition %s arrives at consumer %d".formatted(Integer.toUnsignedString(partition), expected.partition());
    } else if (Integer.compareUnsigned(producer, expected.producers()) >= 0) {
      problem = "producer %s connected, %d are expected".formatted(
          Integer.toUnsignedString(producer), expected.producers());
    }
    if (problem != null) {
      throw new JumpgateException(
          PROTOCOL, "edge '%s': %s".formatted(expected.edge(), problem), Map.of("edge", expected.edge()));
    }
  }

  static ByteBuffer accept() {
    return FrameHeader.frame(FrameHeader.Kind.ACCEPT, 0, 0, ByteBuffer.allocate(0));
  }

  /** The frame that says why an end gives up. */
  static ByteBuffer error(JumpgateException error) {
    ByteBuffer payload = ByteBuffer.allocate(8 + CODE_MAX + MESSAGE_MAX).order(ByteOrder.LITTLE_ENDIAN);
    for (ByteBuffer part : new ByteBuffer[] {cut(error.code(), CODE_MAX), cut(error.getMessage(), MESSAGE_MAX)}) {
      payload.putInt(part.remaining()).put(part);
    }
    return FrameHeader.frame(FrameHeader.Kind.ERROR, 0, 0, payload.flip());
  }

  /** The sentence of an ERROR's payload; raises {@code protocol}. */
  static String message(ByteBuffer payload) {
    try {
      text(payload);
      String message = text(payload);
      if (!payload.hasRemaining()) {
        return message;
      }
    } catch (BufferUnderflowException e) {
      // said below
    }
    throw new JumpgateException(PROTOCOL, "a malformed error frame");
  }

  private static String text(ByteBuffer payload) {
    int size = payload.getInt();
    if (size < 0 || size > payload.remaining()) {
      throw new BufferUnderflowException();
    }
    String text = StandardCharsets.UTF_8.decode(payload.slice(payload.position(), size)).toString();
    payload.position(payload.position() + size);
    return text;
  }

  /** At most so many bytes, whole characters. */
  private static ByteBuffer cut(String text, int bytes) {
    ByteBuffer out = ByteBuffer.allocate(bytes);
    StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text), out, true);
    return out.flip();
  }

  @Override
  public String toString() {
    return "Greeting[producer %d, edge %s]".formatted(producer, edge);
  }
}
