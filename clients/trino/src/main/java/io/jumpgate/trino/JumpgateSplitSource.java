package io.jumpgate.trino;

import io.airlift.units.Duration;
import io.jumpgate.client.Share;
import io.jumpgate.client.Shares;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.trino.plan.Filters;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorSplitSource;
import io.trino.spi.connector.DynamicFilter;
import io.trino.spi.connector.FixedSplitSource;
import io.trino.spi.predicate.TupleDomain;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The splits of a result, which are made when its stage begins: their group does not wait forever. They all have the
 * filter that joins above have found by then, or in the time that is left for it.
 */
final class JumpgateSplitSource implements ConnectorSplitSource {
  private static final ConnectorSplitBatch NONE_YET = new ConnectorSplitBatch(List.of(), false);

  private final TableHandle table;
  private final Shares shares;
  private final int chosen;
  private final DynamicFilter filter;
  private final long deadlineNs;
  private FixedSplitSource splits;

  JumpgateSplitSource(TableHandle table, Shares shares, int chosen, DynamicFilter filter, Duration patience) {
    this.table = table;
    this.shares = shares;
    this.chosen = chosen;
    this.filter = filter;
    this.deadlineNs = System.nanoTime() + patience.roundTo(TimeUnit.NANOSECONDS);
  }

  @Override
  public synchronized CompletableFuture<ConnectorSplitBatch> getNextBatch(int maxSize) {
    if (splits != null) {
      return splits.getNextBatch(maxSize);
    }
    long leftNs = deadlineNs - System.nanoTime();
    if (leftNs > 0 && filter.isAwaitable()) {
      return filter.isBlocked().thenApply(found -> NONE_YET).completeOnTimeout(NONE_YET, leftNs, TimeUnit.NANOSECONDS);
    }
    TupleDomain<ColumnHandle> wanted = filter.getCurrentPredicate();
    if (wanted.isNone()) {
      return begin(List.of(), "").getNextBatch(maxSize);
    }
    Optional<Unsent> narrowed = Filters.narrowed(table, wanted).map(table::unsent);
    String request = narrowed.map(Unsent::text).orElse("");
    return shares.open(narrowed.orElseGet(table::unsent), chosen,
        made -> begin(made, request).getNextBatch(maxSize).join(), JumpgateErrorCode::explain);
  }

  private synchronized FixedSplitSource begin(List<Share> made, String request) {
    splits = new FixedSplitSource(
        made.stream().map(share -> new JumpgateSplit(table.name(), share.group(), share.receiver(), request)).toList());
    return splits;
  }

  @Override
  public synchronized boolean isFinished() {
    return splits != null && splits.isFinished();
  }

  @Override
  public void close() {}
}
