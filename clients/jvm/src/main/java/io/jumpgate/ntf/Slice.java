package io.jumpgate.ntf;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Bytes of a received frame, valid as long as its buffer is held. */
public final class Slice {
  private final FrameBuffer buffer;
  private final int start;
  private final int length;

  Slice(FrameBuffer buffer, int start, int length) {
    this.buffer = buffer;
    this.start = start;
    this.length = length;
  }

  /** Of the first byte, in memory. */
  public long address() {
    return buffer.address() + start;
  }

  public int length() {
    return length;
  }

  /** A little-endian, read-only view of its own. */
  public ByteBuffer bytes() {
    return buffer.bytes().slice(start, length).order(ByteOrder.LITTLE_ENDIAN);
  }
}
