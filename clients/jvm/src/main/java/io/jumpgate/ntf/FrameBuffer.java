package io.jumpgate.ntf;

import java.nio.ByteBuffer;

/** A frame's memory: off the heap, at a multiple of 64 bytes, given back with the last reference. Thread-safe. */
public interface FrameBuffer {
  /** Of the first byte, in memory. */
  long address();

  int length();

  /** A little-endian, read-only view of its own. */
  ByteBuffer bytes();

  /** One more reference: for each there is one {@link #release}. */
  void retain();

  /**
   * Gives up a reference; the memory must not be used after the last. Raises IllegalStateException if there is none.
   */
  void release();
}
