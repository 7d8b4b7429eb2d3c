package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.trino.JumpgateColumn;
import io.trino.spi.connector.ColumnHandle;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What Trino's variables are: columns of a schema. */
record Scope(List<Field> schema, Map<String, Integer> variables) {
  static Scope of(List<Field> schema, Map<String, ColumnHandle> assignments) {
    Map<String, Integer> variables = new HashMap<>();
    assignments.forEach((name, column) -> variables.put(name, ((JumpgateColumn) column).index()));
    return new Scope(schema, variables);
  }

  /** Of two inputs, of which the columns are one after the other. */
  static Scope of(List<Field> schema, Map<String, ColumnHandle> left, Map<String, ColumnHandle> right, int rightAt) {
    Scope both = of(schema, left);
    right.forEach((name, column) -> both.variables.put(name, rightAt + ((JumpgateColumn) column).index()));
    return both;
  }

  /** Raises NotOffloaded. */
  Expression column(String variable) {
    Integer index = variables.get(variable);
    if (index == null) {
      throw new NotOffloaded(Code.COLUMN, variable + " is not a column of the input");
    }
    return Expression.column(index, schema);
  }
}
