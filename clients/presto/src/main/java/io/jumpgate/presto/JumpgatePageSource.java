package io.jumpgate.presto;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.RuntimeStats;
import com.facebook.presto.common.RuntimeUnit;
import com.facebook.presto.spi.ConnectorPageSource;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Reception;
import io.jumpgate.client.Share;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.presto.plan.SessionTime;
import io.jumpgate.presto.plan.Types;
import java.util.concurrent.CompletableFuture;

/** The rows of a split as pages. */
final class JumpgatePageSource implements ConnectorPageSource {
  /** Of the query's statistics: how often a job was run again. */
  private static final String RETRIES = "jumpgateRetries";

  private final Reception reception;
  private final Columns columns;
  private long rows;

  private JumpgatePageSource(Reception reception, Columns columns) {
    this.reception = reception;
    this.columns = columns;
  }

  /** Asks for a share of the rows of these columns. Raises PrestoException. */
  static JumpgatePageSource open(JumpgateClient client, Unsent request, Share share, String host, RuntimeStats stats,
      Types types, SessionTime time) {
    Runnable onRetry = () -> {
      if (share.receiver() == 0) {
        stats.addMetricValue(RETRIES, RuntimeUnit.NONE, 1);
      }
    };
    try {
      Columns columns = new Columns(request.fields(), types, time);
      return new JumpgatePageSource(Reception.open(client, request, share, host, onRetry), columns);
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
      return new Page(frame.rows(), columns.blocks(frame));
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
