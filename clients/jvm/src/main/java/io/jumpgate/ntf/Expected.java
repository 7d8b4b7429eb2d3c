package io.jumpgate.ntf;

import java.time.Duration;

/**
 * Who may connect to an endpoint. {@code partition} is this consumer's number among the edge's; {@code timeout} is the
 * time for a greeting, and for the other producers once the first is there. {@code certificate}: the job's, null where
 * tuples come in clear.
 */
public record Expected(String job, String edge, String token, Descriptor descriptor, int producers, int partition,
    Duration timeout, EdgeCertificate certificate) {
  public static final Duration TIMEOUT = Duration.ofSeconds(30);

  /** In clear. */
  public Expected(String job, String edge, String token, Descriptor descriptor, int producers, int partition) {
    this(job, edge, token, descriptor, producers, partition, null);
  }

  public Expected(String job, String edge, String token, Descriptor descriptor, int producers, int partition,
      EdgeCertificate certificate) {
    this(job, edge, token, descriptor, producers, partition, TIMEOUT, certificate);
  }

  @Override
  public String toString() {
    return "Expected[%s, edge %s, partition %d of %d producers]".formatted(job, edge, partition, producers);
  }
}
