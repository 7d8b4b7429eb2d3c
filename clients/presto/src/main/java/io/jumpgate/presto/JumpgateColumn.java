package io.jumpgate.presto;

import com.facebook.presto.spi.ColumnHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/** A column by its position in the table's files. */
public record JumpgateColumn(@JsonProperty("index") int index) implements ColumnHandle {
  @JsonCreator
  public JumpgateColumn {}
}
