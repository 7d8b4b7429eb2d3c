package io.jumpgate.client;

import io.jumpgate.v1.LookRequest;
import io.jumpgate.v1.Read;
import java.time.Duration;

/** What paths name where the service runs: an answer is remembered for ten seconds. Thread-safe. */
public final class Looks {
  private static final Duration FRESH = Duration.ofSeconds(10);

  private final Remembered<LookRequest, Read> known;

  public Looks(JumpgateClient client) {
    known = new Remembered<>(request -> client.look(request).getRead().getOperators(0).getRead(), FRESH);
  }

  /** A Read of all columns. Raises what the service finds wrong with the paths. */
  public Read at(LookRequest request) {
    return known.of(request);
  }
}
