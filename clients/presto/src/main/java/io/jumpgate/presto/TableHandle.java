package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorTableHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/** A table of the catalog, by its names. */
public record TableHandle(@JsonProperty("schema") String schema, @JsonProperty("table") String table)
    implements ConnectorTableHandle {
  @JsonCreator
  public TableHandle {}
}
