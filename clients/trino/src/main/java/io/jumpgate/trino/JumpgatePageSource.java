package io.jumpgate.trino;

import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Reception;
import io.jumpgate.client.Share;
import io.jumpgate.ntf.ColumnarFrame;
import io.trino.spi.Page;
import io.trino.spi.block.Block;
import io.trino.spi.connector.ConnectorPageSource;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** The rows of a split as pages. */
final class JumpgatePageSource implements ConnectorPageSource {
  private final Reception reception;
  private final int columns;
  private long rows;

  private JumpgatePageSource(Reception reception, int columns) {
    this.reception = reception;
    this.columns = columns;
  }

  /** Asks for a share of the rows of these columns; where only rows count, of one. Raises TrinoException. */
  static JumpgatePageSource open(
      JumpgateClient client, TableHandle table, List<JumpgateColumn> wanted, Share share, String host) {
    try {
      Reception reception = Reception.open(client, table.columns(wanted), share, host, () -> {});
      return new JumpgatePageSource(reception, wanted.size());
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(e);
    }
  }

  @Override
  public Page getNextPage() {
    try (ColumnarFrame frame = reception.poll()) {
      if (frame == null) {
        return null;
      }
      rows += frame.rows();
      Block[] blocks = new Block[columns];
      for (int i = 0; i < columns; i++) {
        blocks[i] = Columns.block(reception.fields().get(i), frame.column(i), frame.rows());
      }
      return new Page(frame.rows(), blocks);
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(e);
    }
  }

  @Override
  public CompletableFuture<?> isBlocked() {
    return reception.ready();
  }

  @Override
  public boolean isFinished() {
    return reception.isFinished();
  }

  @Override
  public long getCompletedBytes() {
    return reception.bytes();
  }

  @Override
  public OptionalLong getCompletedPositions() {
    return OptionalLong.of(rows);
  }

  @Override
  public long getReadTimeNanos() {
    return 0;
  }

  @Override
  public long getMemoryUsage() {
    return reception.heldBytes();
  }

  @Override
  public void close() {
    reception.close();
  }
}
