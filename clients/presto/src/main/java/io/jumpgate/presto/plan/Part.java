package io.jumpgate.presto.plan;

import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A part of a plan that is offloaded: column i of {@code operator} is variable i. {@code scan} is one of its tables.
 * {@code ordered}: the plan relies on the order of its rows. {@code marks}: columns that it does not compute, and that
 * say of a row whether it is the first with its values of these columns.
 */
record Part(Operator operator, List<VariableReferenceExpression> variables, TableScanNode scan, boolean ordered,
    Map<VariableReferenceExpression, Set<VariableReferenceExpression>> marks) {
  Part {
    variables = List.copyOf(variables);
    marks = Map.copyOf(marks);
  }

  /** Whether a scan of its result is all that the plan needs of it. */
  boolean isWhole() {
    return !ordered && marks.isEmpty();
  }

  ExpressionTranslator over(Functions functions) {
    return new ExpressionTranslator(functions, this::column);
  }

  Expression column(VariableReferenceExpression variable) {
    return operator.column(index(variables, variable));
  }

  /** A column whose values are compared. Raises NotOffloaded. */
  Expression key(VariableReferenceExpression variable) {
    Expression column = column(variable);
    if (column.type() instanceof DataType.Nested) {
      throw new NotOffloaded(Code.TYPE, "arrays, maps and rows are compared by Presto: " + variable.getName());
    }
    return column;
  }

  /** Where a variable is among the columns. Raises NotOffloaded. */
  static int index(List<VariableReferenceExpression> columns, VariableReferenceExpression variable) {
    return IntStream.range(0, columns.size())
        .filter(i -> columns.get(i).getName().equals(variable.getName()))
        .findFirst()
        .orElseThrow(() -> new NotOffloaded(Code.COLUMN, variable + " is not a column of the input"));
  }

  /** What an operator makes of it, that keeps the order of rows, or needs none. */
  Part then(Operator above, List<VariableReferenceExpression> columns) {
    return new Part(above, columns, scan, ordered, Map.of());
  }

  Part inOrder(boolean ordered) {
    return new Part(operator, variables, scan, ordered, marks);
  }

  Part marked(VariableReferenceExpression mark, Collection<VariableReferenceExpression> distinct) {
    Map<VariableReferenceExpression, Set<VariableReferenceExpression>> all = new HashMap<>(marks);
    all.put(mark, Set.copyOf(distinct));
    return new Part(operator, variables, scan, ordered, all);
  }

  /** These of its columns. */
  Part select(List<VariableReferenceExpression> columns) {
    List<String> names = columns.stream().map(VariableReferenceExpression::getName).toList();
    return then(operator.project(columns.stream().map(this::column).toList(), names), columns);
  }
}
