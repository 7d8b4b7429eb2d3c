package io.jumpgate.trino;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.airlift.slice.SizeOf;
import io.jumpgate.client.Share;
import io.trino.spi.connector.ConnectorSplit;

/**
 * One stream of a result: whoever gets it takes its share of the rows. {@code group}: secret of those who do; empty if
 * there is only one. {@code of}: the tables, for people. {@code request}: what computes them in place of the table's
 * own request, narrowed by filters that were found while the query ran; empty if there are none.
 */
public record JumpgateSplit(@JsonProperty("of") String of, @JsonProperty("group") String group,
    @JsonProperty("receiver") int receiver, @JsonProperty("request") String request) implements ConnectorSplit {
  private static final int BYTES = SizeOf.instanceSize(JumpgateSplit.class);

  @JsonCreator
  public JumpgateSplit {}

  Share share() {
    return new Share(group, receiver);
  }

  @Override
  public Object getInfo() {
    return of;
  }

  @Override
  public long getRetainedSizeInBytes() {
    return BYTES + SizeOf.estimatedSizeOf(of) + SizeOf.estimatedSizeOf(group) + SizeOf.estimatedSizeOf(request);
  }
}
