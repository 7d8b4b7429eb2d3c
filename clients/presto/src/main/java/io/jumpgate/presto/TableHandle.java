package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorTableHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A table of the catalog, by its names; or, with a {@code request} (the text of an Unsent), a result that is computed
 * from it. {@code coverage} says what of the plan that is: EXPLAIN prints it.
 */
public record TableHandle(@JsonProperty("schema") String schema, @JsonProperty("table") String table,
    @JsonProperty("request") String request, @JsonProperty("coverage") String coverage)
    implements ConnectorTableHandle {
  @JsonCreator
  public TableHandle {}

  TableHandle(String schema, String table) {
    this(schema, table, "", "");
  }

  boolean isResult() {
    return !request.isEmpty();
  }

  /** For people. */
  String name() {
    return schema + "." + table;
  }

  @Override
  public String toString() {
    return name() + (coverage.isEmpty() ? "" : ", " + coverage.replace("\n", "; "));
  }
}
