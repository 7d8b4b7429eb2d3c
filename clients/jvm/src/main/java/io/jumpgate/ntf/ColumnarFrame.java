package io.jumpgate.ntf;

/** A frame of layout {@code columnar}: Arrow's buffers, wrapped where they are. */
public final class ColumnarFrame implements Frame {
  /**
   * One column. {@code validity}: one bit a row, least significant first, 1 = value; null where no value is NULL.
   * {@code offsets}: of text only, rows + 1 ascending uint32 from 0. {@code values}: text's characters, a bool's bits,
   * else little-endian values back to back, decimals in 16 bytes.
   */
  public record Column(Slice validity, Slice offsets, Slice values) {
    public boolean hasNulls() {
      return validity != null;
    }
  }

  private final FrameBuffer buffer;
  private final int rows;
  private final Column[] columns;

  ColumnarFrame(FrameBuffer buffer, int rows, Column[] columns) {
    this.buffer = buffer;
    this.rows = rows;
    this.columns = columns;
  }

  @Override
  public int rows() {
    return rows;
  }

  @Override
  public FrameBuffer buffer() {
    return buffer;
  }

  /** In the descriptor's order, which also says its type. */
  public Column column(int index) {
    return columns[index];
  }
}
