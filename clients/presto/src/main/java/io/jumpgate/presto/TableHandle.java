package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorTableHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Unsent;
import java.util.List;

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

  public Catalog.Table of(Catalog catalog) {
    return catalog.table(schema, table);
  }

  /** What computes these columns, of which there is one at least. */
  Unsent columns(Catalog catalog, List<JumpgateColumn> wanted) {
    if (!isResult()) {
      return Unsent.of(of(catalog).read(wanted.stream().map(JumpgateColumn::index).toList()), Dialect.DEFAULT);
    }
    return Unsent.parse(request).select(wanted.stream().map(c -> new Unsent.Wanted(c.index(), c.field())).toList());
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
