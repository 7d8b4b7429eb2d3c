package io.jumpgate.trino;

import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.PageSourceContract;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.trino.plan.Types;
import io.trino.plugin.base.metrics.LongCount;
import io.trino.spi.Page;
import io.trino.spi.type.TypeOperators;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;

final class JumpgatePageSourceTest extends PageSourceContract {
  private static final TableHandle TABLE = TableHandle.of("main.t",
      Operator.read(List.of("/t.parquet"), "parquet", List.of(new Field("a", DataType.INT64)), List.of(0), Map.of(),
          Optional.empty()),
      new Types(new TypeOperators()));

  @Override
  protected Source open(JumpgateClient client) {
    JumpgatePageSource source =
        JumpgatePageSource.open(client, TABLE, TABLE.columns(), new JumpgateSplit("main.t", "", 0, ""), "127.0.0.1");
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
        return source.getMemoryUsage();
      }

      @Override
      public long completedRows() {
        return source.getCompletedPositions().orElse(-1);
      }

      @Override
      public long completedBytes() {
        return source.getCompletedBytes();
      }

      @Override
      public long retries() {
        return source.getMetrics().getMetrics().get("jumpgateRetries") instanceof LongCount count ? count.getTotal()
                                                                                                  : 0;
      }

      @Override
      public void close() throws Exception {
        source.close();
      }
    };
  }
}
