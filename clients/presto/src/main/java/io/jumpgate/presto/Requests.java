package io.jumpgate.presto;

import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Dataflow;
import java.util.List;

/** What computes columns of a table, or of a result. */
record Requests(Catalog catalog, TableHandle table, List<JumpgateColumn> wanted) {
  /** The request that sends them to an endpoint. */
  Dataflow sendTo(String endpoint) {
    if (!table.isResult()) {
      List<Integer> indices = wanted.stream().map(JumpgateColumn::index).toList();
      return catalog.table(table)
          .read(indices)
          .send(List.of(endpoint), Partitioning.SINGLE, Layout.COLUMNAR)
          .request(Dialect.DEFAULT);
    }
    List<Unsent.Wanted> columns = wanted.stream().map(c -> new Unsent.Wanted(c.index(), c.field())).toList();
    return Unsent.parse(table.request()).send(columns, List.of(endpoint), Partitioning.SINGLE, Layout.COLUMNAR);
  }

  List<Field> columns() {
    return wanted.stream().map(JumpgateColumn::field).toList();
  }
}
