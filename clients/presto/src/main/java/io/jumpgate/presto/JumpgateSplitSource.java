package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorSplitSource;
import com.facebook.presto.spi.FixedSplitSource;
import com.facebook.presto.spi.connector.ConnectorPartitionHandle;
import io.jumpgate.client.Share;
import io.jumpgate.client.Shares;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The splits of a result, which are made when its stage begins: their group does not wait forever. */
final class JumpgateSplitSource implements ConnectorSplitSource {
  private final TableHandle table;
  private final Shares shares;
  private final int chosen;
  private FixedSplitSource splits;

  JumpgateSplitSource(TableHandle table, Shares shares, int chosen) {
    this.table = table;
    this.shares = shares;
    this.chosen = chosen;
  }

  @Override
  public synchronized CompletableFuture<ConnectorSplitBatch> getNextBatch(
      ConnectorPartitionHandle partition, int maxSize) {
    if (splits != null) {
      return splits.getNextBatch(partition, maxSize);
    }
    return shares.open(table.unsent(), chosen,
        made -> begin(made).getNextBatch(partition, maxSize).join(), JumpgateErrorCode::explain);
  }

  private synchronized FixedSplitSource begin(List<Share> made) {
    splits = new FixedSplitSource(
        made.stream().map(share -> new JumpgateSplit(table.name(), share.group(), share.receiver())).toList());
    return splits;
  }

  @Override
  public synchronized boolean isFinished() {
    return splits != null && splits.isFinished();
  }

  @Override
  public void close() {}
}
