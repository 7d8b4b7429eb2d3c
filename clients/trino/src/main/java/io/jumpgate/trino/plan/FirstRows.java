package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.trino.TableHandle;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.LimitApplicationResult;
import io.trino.spi.connector.SortItem;
import io.trino.spi.connector.TopNApplicationResult;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The first rows of a handle. */
public final class FirstRows {
  private FirstRows() {}

  /** Of any order. */
  public static Optional<LimitApplicationResult<ConnectorTableHandle>> any(TableHandle handle, long count) {
    TableHandle above = handle.then(handle.operator().limit(count, 0), handle.pushed().enforced(), "");
    return Optional.of(new LimitApplicationResult<>(above, true, false));
  }

  /**
   * In an order, into which Trino puts these few again: it relies on none in which rows arrive. Raises NotOffloaded.
   */
  public static Optional<TopNApplicationResult<ConnectorTableHandle>> ordered(
      TableHandle handle, long count, List<SortItem> items, Map<String, ColumnHandle> assignments) {
    Scope scope = Scope.of(handle.operator().schema(), assignments);
    List<Expression.SortKey> keys = items.stream().map(item -> key(scope, item)).toList();
    String first =
        count + " by " + items.stream().map(i -> scope.variables().get(i.getName()) + " " + i.getSortOrder()).toList();
    if (handle.pushed().first().equals(first)) {
      return Optional.empty(); // it is so already
    }
    TableHandle above = handle.then(handle.operator().topN(keys, count, 0), handle.pushed().enforced(), first);
    return Optional.of(new TopNApplicationResult<>(above, false, false));
  }

  private static Expression.SortKey key(Scope scope, SortItem item) {
    Expression column = scope.column(item.getName());
    Types.requireScalar(item.getName(), column.type());
    if (column.type().isFloat()) {
      throw new NotOffloaded(Code.DIALECT, "Trino orders NaN and -0.0 in its own way: " + item.getName());
    }
    return new Expression.SortKey(column, !item.getSortOrder().isAscending(), item.getSortOrder().isNullsFirst());
  }
}
