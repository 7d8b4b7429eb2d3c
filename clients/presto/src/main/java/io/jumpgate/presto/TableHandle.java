package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorTableHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.catalog.Table;
import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Unsent;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * A table of the catalog, as it was when the query began, or a result that is computed from it: {@code request} is the
 * text of an Unsent. {@code coverage} says what of the plan that is; EXPLAIN prints it. A worker gets no more than
 * these; what the planner needs of the table stays with the coordinator.
 */
public final class TableHandle implements ConnectorTableHandle {
  private final String schema;
  private final String table;
  private final String request;
  private final String coverage;
  private final Table source;

  @JsonCreator
  public TableHandle(@JsonProperty("schema") String schema, @JsonProperty("table") String table,
      @JsonProperty("request") String request, @JsonProperty("coverage") String coverage) {
    this(schema, table, request, coverage, null);
  }

  private TableHandle(String schema, String table, String request, String coverage, Table source) {
    this.schema = schema;
    this.table = table;
    this.request = request;
    this.coverage = coverage;
    this.source = source;
  }

  /** Of all columns, as the files have them. */
  static TableHandle of(String schema, String table, Table source) {
    List<Integer> all = IntStream.range(0, source.columns().size()).boxed().toList();
    return new TableHandle(schema, table, Unsent.of(source.read(all), Dialect.DEFAULT).text(), "", source);
  }

  /** Of a result that is computed from it. */
  public TableHandle result(Unsent result, String covered) {
    return new TableHandle(schema, table, result.text(), covered, source);
  }

  @JsonProperty
  public String schema() {
    return schema;
  }

  @JsonProperty
  public String table() {
    return table;
  }

  @JsonProperty
  public String request() {
    return request;
  }

  @JsonProperty
  public String coverage() {
    return coverage;
  }

  /** What the table is; only the coordinator knows it. */
  public Table source() {
    return source;
  }

  boolean isResult() {
    return !coverage.isEmpty();
  }

  /** What computes all columns. */
  Unsent unsent() {
    return Unsent.parse(request);
  }

  /** What computes these columns, of which there is one at least. */
  Unsent columns(List<JumpgateColumn> wanted) {
    return unsent().select(wanted.stream().map(c -> new Unsent.Wanted(c.index(), c.field())).toList());
  }

  /** For people. */
  String name() {
    return schema + "." + table;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableHandle handle && handle.schema.equals(schema) && handle.table.equals(table)
        && handle.request.equals(request) && handle.coverage.equals(coverage);
  }

  @Override
  public int hashCode() {
    return Objects.hash(schema, table, request);
  }

  @Override
  public String toString() {
    return name() + (coverage.isEmpty() ? "" : ", " + coverage.replace("\n", "; "));
  }
}
