package io.jumpgate.trino;

import io.jumpgate.client.Estimates;
import io.jumpgate.v1.Estimate;
import io.trino.spi.statistics.ColumnStatistics;
import io.trino.spi.statistics.TableStatistics;
import java.util.List;
import java.util.Optional;

/** What the service expects of results: rows, bytes of columns, and how many values of one differ. */
record Statistics(Estimates estimates) {
  TableStatistics of(TableHandle table) {
    List<JumpgateColumn> columns = table.columns();
    Optional<Estimate> all = columns.isEmpty() ? Optional.empty() : estimates.of(table.columns(columns));
    if (all.isEmpty()) {
      return TableStatistics.empty();
    }
    double rows = all.get().getRows();
    TableStatistics.Builder statistics = TableStatistics.builder().setRowCount(of(rows));
    for (JumpgateColumn column : columns) {
      ColumnStatistics.Builder of = ColumnStatistics.builder();
      estimates.of(table.columns(List.of(column))).ifPresent(e -> of.setDataSize(of(e.getBytes())));
      estimates.of(table.columns(List.of(column)).distinct())
          .ifPresent(e -> of.setDistinctValuesCount(of(Math.min(e.getRows(), rows))));
      statistics.setColumnStatistics(column, of.build());
    }
    return statistics.build();
  }

  private static io.trino.spi.statistics.Estimate of(double value) {
    return io.trino.spi.statistics.Estimate.of(value);
  }
}
