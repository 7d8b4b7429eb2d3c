package io.jumpgate.presto;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.RuntimeStats;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.PageSourceContract;
import io.jumpgate.client.Share;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.presto.plan.SessionTime;
import io.jumpgate.presto.plan.Types;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Operator;
import java.util.concurrent.Future;

final class JumpgatePageSourceTest extends PageSourceContract {
  @Override
  protected Source open(JumpgateClient client) {
    RuntimeStats stats = new RuntimeStats();
    Unsent request = new Unsent(Dataflow.newBuilder().addOperators(Operator.getDefaultInstance()).build());
    JumpgatePageSource source =
        JumpgatePageSource.open(client, request, Share.ALL, "127.0.0.1", stats, new Types(null), SessionTime.of("UTC"));
    return new Source() {
      @Override
      public int next() {
        Page page = source.getNextPage();
        return page == null ? -1 : page.getPositionCount();
      }

      @Override
      public Future<?> isBlocked() {
        return source.isBlocked();
      }

      @Override
      public boolean isFinished() {
        return source.isFinished();
      }

      @Override
      public long memoryBytes() {
        return source.getSystemMemoryUsage();
      }

      @Override
      public long completedRows() {
        return source.getCompletedPositions();
      }

      @Override
      public long completedBytes() {
        return source.getCompletedBytes();
      }

      @Override
      public long retries() {
        return stats.getMetrics().containsKey("jumpgateRetries") ? stats.getMetric("jumpgateRetries").getSum() : 0;
      }

      @Override
      public void close() throws Exception {
        source.close();
      }
    };
  }
}
