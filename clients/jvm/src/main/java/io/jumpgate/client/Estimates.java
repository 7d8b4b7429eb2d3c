package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Estimate;
import io.jumpgate.v1.ExplainRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the service expects of results, for optimisers: an answer is remembered for a minute. Thread-safe. */
public final class Estimates {
  private static final int REMEMBERED = 4096;
  private static final long FRESH_NANOS = 60_000_000_000L;
  /** Where a dataflow is not sent to: it is only estimated. */
  private static final List<String> NOWHERE = List.of("127.0.0.1:1");

  /** What was answered, and when. */
  private record Known(Optional<Estimate> estimate, long nanos) {}

  private final JumpgateClient client;
  private final Map<Dataflow, Known> known = new LinkedHashMap<>() {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Dataflow, Known> eldest) {
      return size() > REMEMBERED;
    }
  };

  public Estimates(JumpgateClient client) {
    this.client = client;
  }

  /**
   * Of the result and its columns; none where the service does not know, or does not answer: the query itself will say
   * why.
   */
  public Optional<Estimate> of(Unsent unsent) {
    Dataflow dataflow = unsent.send(NOWHERE, Partitioning.SINGLE, Layout.COLUMNAR);
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
    ExplainRequest request =
        ExplainRequest.newBuilder().setDataflow(dataflow).setEstimateOnly(true).setColumns(true).build();
    try {
      return Optional.of(client.explain(request).getEstimate()).filter(Estimate::getKnown);
    } catch (JumpgateException e) {
      return Optional.empty();
    }
  }
}
