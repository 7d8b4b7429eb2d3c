package io.jumpgate.ntf;

/** Rows as they came, checked. Whoever gets one closes it; whoever keeps parts of it retains its {@link #buffer}. */
public sealed interface Frame extends AutoCloseable permits ColumnarFrame, RowFrame {
  int rows();

  /** The memory that all parts of the frame are in. */
  FrameBuffer buffer();

  /** Gives up the reference that {@link Endpoint#next} handed out. */
  @Override
  default void close() {
    buffer().release();
  }
}
