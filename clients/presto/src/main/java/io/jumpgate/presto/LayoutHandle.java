package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/** How a table is read: in one way. */
public record LayoutHandle(@JsonProperty("table") TableHandle table) implements ConnectorTableLayoutHandle {
  @JsonCreator
  public LayoutHandle {}

  @Override
  public String toString() {
    return table.isResult() ? "result" : "columns";
  }
}
