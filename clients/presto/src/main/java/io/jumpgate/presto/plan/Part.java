package io.jumpgate.presto.plan;

import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A part of a plan that is offloaded: column i of {@code operator} is variable i. {@code scan} is one of its tables,
 * {@code operators} how many of the plan's it is, scans included.
 */
record Part(Operator operator, List<VariableReferenceExpression> variables, TableScanNode scan, int operators) {
  Part {
    variables = List.copyOf(variables);
  }

  ExpressionTranslator over(FunctionMetadataManager functions) {
    return new ExpressionTranslator(functions, this::column);
  }

  Expression column(VariableReferenceExpression variable) {
    int index = IntStream.range(0, variables.size())
                    .filter(i -> variables.get(i).getName().equals(variable.getName()))
                    .findFirst()
                    .orElseThrow(() -> new NotOffloaded(Code.COLUMN, variable + " is not a column of the input"));
    return operator.column(index);
  }

  /** The same rows after one operator more. */
  Part then(Operator above, List<VariableReferenceExpression> columns) {
    return new Part(above, columns, scan, operators + 1);
  }

  List<String> names() {
    return variables.stream().map(VariableReferenceExpression::getName).toList();
  }
}
