package io.jumpgate.presto;

import com.facebook.presto.spi.statistics.ColumnStatistics;
import com.facebook.presto.spi.statistics.DoubleRange;
import com.facebook.presto.spi.statistics.TableStatistics;
import io.jumpgate.client.Estimates;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.v1.ColumnEstimate;
import io.jumpgate.v1.Estimate;
import java.util.List;
import java.util.Optional;

/** What the service expects of tables and results: rows, and of columns bytes, values, their bounds and NULLs. */
record Statistics(Estimates estimates) {
  TableStatistics of(TableHandle table, List<JumpgateColumn> columns) {
    Optional<Estimate> known = columns.isEmpty() ? Optional.empty() : estimates.of(table.columns(columns));
    if (known.isEmpty()) {
      return TableStatistics.empty();
    }
    TableStatistics.Builder statistics =
        TableStatistics.builder().setRowCount(of(known.get().getRows())).setTotalSize(of(known.get().getBytes()));
    for (int i = 0; i < columns.size(); i++) {
      statistics.setColumnStatistics(columns.get(i), of(known.get().getColumns(i), columns.get(i).field().type()));
    }
    return statistics.build();
  }

  private static ColumnStatistics of(ColumnEstimate column, DataType type) {
    ColumnStatistics.Builder of = ColumnStatistics.builder();
    if (column.hasBytes()) {
      of.setDataSize(of(column.getBytes()));
    }
    if (column.hasDistinct()) {
      of.setDistinctValuesCount(of(column.getDistinct()));
    }
    if (column.hasNullFraction()) {
      of.setNullsFraction(of(column.getNullFraction()));
    }
    if (hasRange(type) && column.hasLow() && column.hasHigh() && column.getLow() <= column.getHigh()) {
      of.setRange(new DoubleRange(column.getLow(), column.getHigh()));
    }
    return of.build();
  }

  /** Presto knows no range of booleans; what a timestamp counts from is a session's matter. */
  private static boolean hasRange(DataType type) {
    return switch (type.kind()) {
      case BOOL, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS -> false;
      default -> true;
    };
  }

  private static com.facebook.presto.spi.statistics.Estimate of(double value) {
    return com.facebook.presto.spi.statistics.Estimate.of(value);
  }
}
