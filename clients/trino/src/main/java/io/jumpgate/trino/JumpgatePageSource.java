package io.jumpgate.trino;

import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Reception;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.HeapColumn;
import io.trino.plugin.base.metrics.LongCount;
import io.trino.spi.Page;
import io.trino.spi.block.Block;
import io.trino.spi.connector.ConnectorPageSource;
import io.trino.spi.metrics.Metrics;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** The rows of a split as pages. */
final class JumpgatePageSource implements ConnectorPageSource {
  /** Of an operator's metrics: how often a job was run again. */
  private static final String RETRIES = "jumpgateRetries";

  private final Reception reception;
  private final List<JumpgateColumn> columns;
  private final AtomicInteger retries;
  private long rows;

  private JumpgatePageSource(Reception reception, List<JumpgateColumn> columns, AtomicInteger retries) {
    this.reception = reception;
    this.columns = columns;
    this.retries = retries;
  }

  /** Asks for a share of the rows of these columns; where only rows count, of one. Raises TrinoException. */
  static JumpgatePageSource open(
      JumpgateClient client, TableHandle table, List<JumpgateColumn> wanted, JumpgateSplit split, String host) {
    AtomicInteger retries = new AtomicInteger();
    Runnable onRetry = split.receiver() == 0 ? retries::incrementAndGet : () -> {};
    try {
      Unsent columns = table.computedBy(split.request()).columns(wanted);
      Reception reception = Reception.open(client, columns, split.share(), host, onRetry);
      return new JumpgatePageSource(reception, wanted, retries);
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
      Block[] blocks = new Block[columns.size()];
      for (int i = 0; i < blocks.length; i++) {
        DataType type = columns.get(i).wanted().field().type();
        blocks[i] = Columns.block(columns.get(i).shown(), HeapColumn.of(type, frame.column(i), frame.rows()));
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
  public Metrics getMetrics() {
    int count = retries.get();
    return count == 0 ? Metrics.EMPTY : new Metrics(Map.of(RETRIES, new LongCount(count)));
  }

  @Override
  public void close() {
    reception.close();
  }
}
