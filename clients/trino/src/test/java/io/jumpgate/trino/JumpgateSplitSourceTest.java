package io.jumpgate.trino;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.airlift.units.Duration;
import io.jumpgate.client.Shares;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorSplitSource.ConnectorSplitBatch;
import io.trino.spi.connector.DynamicFilter;
import io.trino.spi.predicate.Domain;
import io.trino.spi.predicate.TupleDomain;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.TypeOperators;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Splits of a result of which joins above may not want all rows. */
@Timeout(300)
final class JumpgateSplitSourceTest {
  private static final Operator READ = Operator.read(List.of("/t.parquet"), "parquet",
      List.of(new Field("n", DataType.INT64), new Field("x", DataType.FLOAT64)), List.of(0, 1), Map.of(),
      Optional.empty());
  private static final TableHandle TABLE = TableHandle.of("main.t", READ, new Types(new TypeOperators()));
  private static final Duration LONG = new Duration(1, TimeUnit.HOURS);

  /** What joins find out: nothing, until they are told. */
  private static final class FakeFilter implements DynamicFilter {
    private CompletableFuture<?> blocked = new CompletableFuture<>();
    private TupleDomain<ColumnHandle> found = TupleDomain.all();
    private boolean complete;

    void find(TupleDomain<ColumnHandle> now, boolean last) {
      CompletableFuture<?> before = blocked;
      found = now;
      complete = last;
      blocked = new CompletableFuture<>();
      before.complete(null);
    }

    @Override
    public Set<ColumnHandle> getColumnsCovered() {
      return Set.copyOf(TABLE.columns());
    }

    @Override
    public CompletableFuture<?> isBlocked() {
      return complete ? NOT_BLOCKED : blocked;
    }

    @Override
    public boolean isComplete() {
      return complete;
    }

    @Override
    public boolean isAwaitable() {
      return !complete;
    }

    @Override
    public TupleDomain<ColumnHandle> getCurrentPredicate() {
      return found;
    }
  }

  private final FakeFilter filter = new FakeFilter();

  /** One split, for which nobody is asked. */
  private JumpgateSplitSource source(Duration patience) {
    return new JumpgateSplitSource(TABLE, new Shares(null, null, () -> 1), 1, filter, patience);
  }

  private static TupleDomain<ColumnHandle> values(LongStream values) {
    List<Long> all = values.boxed().toList();
    return TupleDomain.withColumnDomains(Map.of(TABLE.columns().get(0), Domain.multipleValues(BigintType.BIGINT, all)));
  }

  private static ConnectorSplitBatch next(JumpgateSplitSource source) throws Exception {
    return source.getNextBatch(10).get(60, TimeUnit.SECONDS);
  }

  /** The request of the one split, that is the last. */
  private static String request(JumpgateSplitSource source) throws Exception {
    ConnectorSplitBatch batch = next(source);
    assertTrue(batch.isNoMoreSplits());
    assertTrue(source.isFinished());
    assertEquals(1, batch.getSplits().size());
    return ((JumpgateSplit) batch.getSplits().get(0)).request();
  }

  private static String filtered(Expression condition) {
    return TABLE.unsent(READ.filter(condition)).text();
  }

  @Test
  void splitsHaveTheFiltersOfAllJoins() throws Exception {
    JumpgateSplitSource source = source(LONG);
    CompletableFuture<ConnectorSplitBatch> first = source.getNextBatch(10);
    assertFalse(first.isDone());
    filter.find(values(LongStream.of(1, 2, 3)), false);
    assertTrue(first.get().getSplits().isEmpty());
    assertFalse(first.get().isNoMoreSplits());
    assertFalse(source.isFinished());
    CompletableFuture<ConnectorSplitBatch> second = source.getNextBatch(10);
    assertFalse(second.isDone());
    filter.find(values(LongStream.of(2)), true);
    assertTrue(second.get().getSplits().isEmpty());
    Expression wanted = ScalarFunction.EQ.of(READ.column(0), Expression.integer(2, DataType.INT64));
    assertEquals(filtered(wanted), request(source));
  }

  @Test
  void theWaitEnds() throws Exception {
    JumpgateSplitSource source = source(new Duration(1, TimeUnit.MILLISECONDS));
    ConnectorSplitBatch batch = next(source);
    while (!batch.isNoMoreSplits()) {
      batch = next(source);
    }
    assertEquals("", ((JumpgateSplit) batch.getSplits().get(0)).request());
  }

  @Test
  void whatWasFoundWhenTheWaitEndsCounts() throws Exception {
    filter.find(values(LongStream.of(2)), false);
    Expression wanted = ScalarFunction.EQ.of(READ.column(0), Expression.integer(2, DataType.INT64));
    assertEquals(filtered(wanted), request(source(new Duration(0, TimeUnit.SECONDS))));
  }

  @Test
  void manyValuesBecomeTheirRange() throws Exception {
    filter.find(values(LongStream.range(0, 10_000).map(n -> 2 * n)), true);
    Expression column = READ.column(0);
    Expression least = ScalarFunction.GE.of(column, Expression.integer(0, DataType.INT64));
    Expression most = ScalarFunction.LE.of(column, Expression.integer(19_998, DataType.INT64));
    assertEquals(filtered(ScalarFunction.AND.of(least, most)), request(source(LONG)));
  }

  @Test
  void whatIsNotOffloadedIsLeftToTheJoin() throws Exception {
    filter.find(
        TupleDomain.withColumnDomains(Map.of(TABLE.columns().get(1), Domain.singleValue(DoubleType.DOUBLE, 1.5))),
        true);
    assertEquals("", request(source(LONG)));
  }

  @Test
  void whereNoRowIsWantedNothingIsRead() throws Exception {
    filter.find(TupleDomain.none(), true);
    JumpgateSplitSource source = source(LONG);
    ConnectorSplitBatch batch = next(source);
    assertTrue(batch.getSplits().isEmpty());
    assertTrue(batch.isNoMoreSplits());
    assertTrue(source.isFinished());
  }
}
