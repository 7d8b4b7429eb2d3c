package io.jumpgate.presto;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.RuntimeStats;
import com.facebook.presto.common.RuntimeUnit;
import com.facebook.presto.common.block.Block;
import com.facebook.presto.spi.ConnectorPageSource;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Reception;
import io.jumpgate.client.Share;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The rows of a split as pages. */
final class JumpgatePageSource implements ConnectorPageSource {
  /** Of the query's statistics: how often a job was run again. */
  private static final String RETRIES = "jumpgateRetries";

  private final Reception reception;
  private final List<DataType> types;
  private long rows;

  private JumpgatePageSource(Reception reception, List<DataType> types) {
    this.reception = reception;
    this.types = types;
  }

  /** Asks for a share of the rows of these columns. Raises PrestoException. */
  static JumpgatePageSource open(JumpgateClient client, Unsent columns, Share share, String host, RuntimeStats stats) {
    Runnable onRetry = () -> {
      if (share.receiver() == 0) {
        stats.addMetricValue(RETRIES, RuntimeUnit.NONE, 1);
      }
    };
    try {
      return new JumpgatePageSource(Reception.open(client, columns, share, host, onRetry), columns.types());
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
      Block[] blocks = new Block[types.size()];
      for (int i = 0; i < blocks.length; i++) {
        blocks[i] = Columns.block(types.get(i), frame.column(i), frame.rows());
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
  public long getCompletedPositions() {
    return rows;
  }

  @Override
  public long getReadTimeNanos() {
    return 0;
  }

  @Override
  public long getSystemMemoryUsage() {
    return reception.heldBytes();
  }

  @Override
  public void close() {
    reception.close();
  }
}
