package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Estimate;
import io.jumpgate.v1.ExplainRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** What the service expects of results, for optimisers: an answer is remembered for a minute. Thread-safe. */
public final class Estimates {
  private static final Duration FRESH = Duration.ofMinutes(1);
  /** Where a dataflow is not sent to: it is only estimated. */
  private static final List<String> NOWHERE = List.of("127.0.0.1:1");

  private final JumpgateClient client;
  private final Remembered<Dataflow, Optional<Estimate>> known = new Remembered<>(this::ask, FRESH);

  public Estimates(JumpgateClient client) {
    this.client = client;
  }

  /**
   * Of the result and its columns; none where the service does not know, or does not answer: the query itself will say
   * why.
   */
  public Optional<Estimate> of(Unsent unsent) {
    return known.of(unsent.send(NOWHERE, Partitioning.SINGLE, Layout.COLUMNAR));
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
