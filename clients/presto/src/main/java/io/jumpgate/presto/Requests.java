package io.jumpgate.presto;

import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Dataflow;
import java.util.List;

/** What computes columns of a table, or of a result, of which there is one at least. */
record Requests(Catalog catalog, TableHandle table, List<JumpgateColumn> wanted) {
  /** The request that sends them to an endpoint. */
  Dataflow sendTo(String endpoint) {
    return send(columns(), endpoint);
  }

  /** The same of rows that differ. */
  Dataflow distinct(String endpoint) {
    return send(columns().distinct(), endpoint);
  }

  List<Field> fields() {
    return wanted.stream().map(JumpgateColumn::field).toList();
  }

  private Unsent columns() {
    if (!table.isResult()) {
      List<Integer> indices = wanted.stream().map(JumpgateColumn::index).toList();
      return Unsent.of(catalog.table(table).read(indices), Dialect.DEFAULT);
    }
    return Unsent.parse(table.request())
        .select(wanted.stream().map(c -> new Unsent.Wanted(c.index(), c.field())).toList());
  }

  private static Dataflow send(Unsent unsent, String endpoint) {
    return unsent.send(List.of(endpoint), Partitioning.SINGLE, Layout.COLUMNAR);
  }
}
