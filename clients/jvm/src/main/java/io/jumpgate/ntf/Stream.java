package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;

import io.jumpgate.JumpgateException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * One producer's connection, read without blocking: a frame's bytes go from the system straight to where they stay, and
 * are summed while they are in the cache. What is asked for beyond a payload is only the next header.
 */
final class Stream {
  /** A frame that has come whole, and whose bytes are those that were sent. The payload's reference is the taker's. */
  record Received(FrameHeader header, BufferPool.PooledBuffer payload) {}

  final Connection connection;
  final int producer;

  private final BufferPool pool;
  private final ByteBuffer head = ByteBuffer.allocateDirect(FrameHeader.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer checkedHead = ByteBuffer.allocateDirect(FrameHeader.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer[] parts = new ByteBuffer[2];
  private final CRC32C checksum = new CRC32C();
  private FrameHeader header; // of the frame whose payload is awaited
  private BufferPool.PooledBuffer payload;
  private ByteBuffer rest; // of the payload
  private ByteBuffer unsummed;
  private long progressNs;

  private long rows;
  private long frames;
  private final CRC32C frameSums = new CRC32C();
  private final ByteBuffer frameSum = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);

  Stream(Connection connection, int producer, BufferPool pool) {
    this.connection = connection;
    this.producer = producer;
    this.pool = pool;
  }

  /**
   * The next frame; null if it is not all there yet. Raises IOException where the connection ends, {@code protocol},
   * {@code memory}.
   */
  Received read() throws IOException {
    while (true) {
      if (header == null && !head.hasRemaining()) {
        begin();
      }
      if (header != null && !rest.hasRemaining()) {
        return finish();
      }
      long count;
      if (header == null) {
        count = connection.read(head);
      } else {
        count = connection.read(parts);
        unsummed.limit(rest.position());
        checksum.update(unsummed);
      }
      if (count < 0) {
        throw new EOFException();
      }
      if (count == 0) {
        return null;
      }
      progressNs = System.nanoTime();
    }
  }

  /** Whether a frame has begun and has not ended. */
  boolean isAmidFrame() {
    return header != null || head.position() > 0;
  }

  /** When something came last. */
  long progressNs() {
    return progressNs;
  }

  /** Counts a DATA frame. */
  void count(FrameHeader data) {
    rows += data.rows();
    frames++;
    frameSums.update(frameSum.putInt(0, data.crc()).rewind());
  }

  void checkSequence(FrameHeader frame) {
    if (frame.sequence() != frames) {
      throw new JumpgateException(
          PROTOCOL, "frame %d was expected, frame %s came".formatted(frames, Long.toUnsignedString(frame.sequence())));
    }
  }

  /** Raises {@code protocol} unless the END's payload says what came. */
  void checkEnd(ByteBuffer end) {
    if (end.remaining() == 20 && end.getLong(0) != rows) {
      throw new JumpgateException(
          PROTOCOL, "the sender counts %s rows, %d came".formatted(Long.toUnsignedString(end.getLong(0)), rows));
    }
    if (end.remaining() != 20 || end.getLong(8) != frames || end.getInt(16) != (int) frameSums.getValue()) {
      throw new JumpgateException(PROTOCOL, "the end frame's totals do not match the stream");
    }
  }

  /** Also gives up the frame that is not all there. */
  void close() {
    Sockets.close(connection);
    if (payload != null) {
      payload.release();
      payload = null;
    }
  }

  private void begin() {
    header = FrameHeader.parse(head);
    checkedHead.clear().put(head.flip()).flip();
    head.clear();
    payload = pool.take(header.length());
    rest = payload.writable();
    unsummed = payload.writable().limit(0);
    parts[0] = rest;
    parts[1] = head;
    checksum.reset();
  }

  private Received finish() {
    header.check(checksum, checkedHead);
    Received received = new Received(header, payload);
    header = null;
    payload = null;
    return received;
  }
}
