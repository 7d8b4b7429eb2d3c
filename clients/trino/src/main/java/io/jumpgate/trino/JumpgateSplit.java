package io.jumpgate.trino;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.airlift.slice.SizeOf;
import io.trino.spi.connector.ConnectorSplit;

/** A whole result: the worker that gets it receives all of it. {@code of}: its tables, for people. */
public record JumpgateSplit(@JsonProperty("of") String of) implements ConnectorSplit {
  private static final int BYTES = SizeOf.instanceSize(JumpgateSplit.class);

  @JsonCreator
  public JumpgateSplit {}

  @Override
  public Object getInfo() {
    return of;
  }

  @Override
  public long getRetainedSizeInBytes() {
    return BYTES + SizeOf.estimatedSizeOf(of);
  }
}
