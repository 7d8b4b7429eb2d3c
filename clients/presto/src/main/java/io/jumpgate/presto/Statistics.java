package io.jumpgate.presto;

import com.facebook.presto.spi.statistics.ColumnStatistics;
import com.facebook.presto.spi.statistics.TableStatistics;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.Estimates;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Estimate;
import java.util.List;
import java.util.Optional;

/** What the service expects of tables and results: rows, their bytes, and how many values of a column differ. */
record Statistics(Estimates estimates, Catalog catalog) {
  TableStatistics of(TableHandle table, List<JumpgateColumn> columns) {
    if (columns.isEmpty()) {
      return TableStatistics.empty();
    }
    Optional<Estimate> all = estimates.of(table.columns(catalog, columns));
    if (all.isEmpty()) {
      return TableStatistics.empty();
    }
    double rows = all.get().getRows();
    TableStatistics.Builder statistics =
        TableStatistics.builder().setRowCount(of(rows)).setTotalSize(of(all.get().getBytes()));
    for (JumpgateColumn column : columns) {
      Unsent one = table.columns(catalog, List.of(column));
      ColumnStatistics.Builder of = ColumnStatistics.builder();
      estimates.of(one).ifPresent(e -> of.setDataSize(of(e.getBytes())));
      estimates.of(one.distinct()).ifPresent(e -> of.setDistinctValuesCount(of(Math.min(e.getRows(), rows))));
      statistics.setColumnStatistics(column, of.build());
    }
    return statistics.build();
  }

  private static com.facebook.presto.spi.statistics.Estimate of(double value) {
    return com.facebook.presto.spi.statistics.Estimate.of(value);
  }
}
