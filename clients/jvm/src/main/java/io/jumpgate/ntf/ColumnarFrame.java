package io.jumpgate.ntf;

import io.jumpgate.JumpgateException;

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

  /**
   * A frame of bytes that were copied from another one's buffer, in memory of its own. Raises {@code protocol} where
   * they are no such columns.
   */
  public static ColumnarFrame of(Descriptor descriptor, byte[] payload, int rows) {
    BufferPool pool = new BufferPool(MemoryAccount.UNLIMITED);
    BufferPool.PooledBuffer buffer = pool.take(payload.length);
    pool.close(); // nobody takes the memory again once it is given back
    buffer.writable().put(payload);
    try {
      return new ColumnarLayout(descriptor.fields()).wrap(buffer, rows);
    } catch (JumpgateException e) {
      buffer.release();
      throw e;
    }
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
