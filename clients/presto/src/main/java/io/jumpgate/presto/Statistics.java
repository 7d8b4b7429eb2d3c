package io.jumpgate.presto;

import com.facebook.presto.spi.statistics.ColumnStatistics;
import com.facebook.presto.spi.statistics.TableStatistics;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Estimate;
import io.jumpgate.v1.ExplainRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the service expects of tables and results: rows, their bytes, and how many values of a column differ. */
final class Statistics {
  private static final int REMEMBERED = 4096;
  private static final long FRESH_NANOS = 60_000_000_000L;
  /** Where a dataflow is not sent to: it is only estimated. */
  private static final String NOWHERE = "127.0.0.1:1";

  /** What was answered, and when. */
  private record Known(Optional<Estimate> estimate, long nanos) {}

  private final JumpgateClient client;
  private final Catalog catalog;
  private final Map<Dataflow, Known> known = new LinkedHashMap<>() {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Dataflow, Known> eldest) {
      return size() > REMEMBERED;
    }
  };

  Statistics(JumpgateClient client, Catalog catalog) {
    this.client = client;
    this.catalog = catalog;
  }

  TableStatistics of(TableHandle table, List<JumpgateColumn> columns) {
    if (columns.isEmpty()) {
      return TableStatistics.empty();
    }
    Optional<Estimate> all = estimate(new Requests(catalog, table, columns).sendTo(NOWHERE));
    if (all.isEmpty()) {
      return TableStatistics.empty();
    }
    double rows = all.get().getRows();
    TableStatistics.Builder statistics =
        TableStatistics.builder().setRowCount(of(rows)).setTotalSize(of(all.get().getBytes()));
    for (JumpgateColumn column : columns) {
      Requests one = new Requests(catalog, table, List.of(column));
      ColumnStatistics.Builder of = ColumnStatistics.builder();
      estimate(one.sendTo(NOWHERE)).ifPresent(e -> of.setDataSize(of(e.getBytes())));
      estimate(one.distinct(NOWHERE)).ifPresent(e -> of.setDistinctValuesCount(of(Math.min(e.getRows(), rows))));
      statistics.setColumnStatistics(column, of.build());
    }
    return statistics.build();
  }

  private static com.facebook.presto.spi.statistics.Estimate of(double value) {
    return com.facebook.presto.spi.statistics.Estimate.of(value);
  }

  /** None where the service does not know, or does not answer: the query itself will say why. */
  private Optional<Estimate> estimate(Dataflow dataflow) {
    synchronized (known) {
      Known found = known.get(dataflow);
      if (found != null && System.nanoTime() - found.nanos < FRESH_NANOS) {
        return found.estimate;
      }
    }
    Optional<Estimate> answer = ask(dataflow);
    synchronized (known) {
      known.put(dataflow, new Known(answer, System.nanoTime()));
    }
    return answer;
  }

  private Optional<Estimate> ask(Dataflow dataflow) {
    ExplainRequest request = ExplainRequest.newBuilder().setDataflow(dataflow).setEstimateOnly(true).build();
    try {
      return Optional.of(client.explain(request).getEstimate()).filter(Estimate::getKnown);
    } catch (JumpgateException e) {
      return Optional.empty();
    }
  }
}
