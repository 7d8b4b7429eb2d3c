package io.jumpgate.ntf;

/** A frame of layout {@code row}: tuples of equal size, then their strings. */
public final class RowFrame implements Frame {
  private final FrameBuffer buffer;
  private final int rows;

  RowFrame(FrameBuffer buffer, int rows) {
    this.buffer = buffer;
    this.rows = rows;
  }

  @Override
  public int rows() {
    return rows;
  }

  @Override
  public FrameBuffer buffer() {
    return buffer;
  }
}
