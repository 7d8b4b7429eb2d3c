package io.jumpgate.trino;

import io.jumpgate.client.Estimates;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.v1.ColumnEstimate;
import io.jumpgate.v1.Estimate;
import io.trino.spi.statistics.ColumnStatistics;
import io.trino.spi.statistics.DoubleRange;
import io.trino.spi.statistics.TableStatistics;
import java.util.List;
import java.util.Optional;

/** What the service expects of results: rows, and of columns bytes, values, their bounds and NULLs. */
record Statistics(Estimates estimates) {
  TableStatistics of(TableHandle table) {
    List<JumpgateColumn> columns = table.columns();
    Optional<Estimate> known = columns.isEmpty() ? Optional.empty() : estimates.of(table.columns(columns));
    if (known.isEmpty()) {
      return TableStatistics.empty();
    }
    TableStatistics.Builder statistics = TableStatistics.builder().setRowCount(of(known.get().getRows()));
    for (int i = 0; i < columns.size(); i++) {
      statistics.setColumnStatistics(
          columns.get(i), of(known.get().getColumns(i), columns.get(i).wanted().field().type()));
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

  /** Trino knows no range of booleans, and counts long timestamps in other units. */
  private static boolean hasRange(DataType type) {
    return switch (type.kind()) {
      case BOOL, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS -> false;
      default -> true;
    };
  }

  private static io.trino.spi.statistics.Estimate of(double value) {
    return io.trino.spi.statistics.Estimate.of(value);
  }
}
