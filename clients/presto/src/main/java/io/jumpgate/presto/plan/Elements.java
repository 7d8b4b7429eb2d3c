package io.jumpgate.presto.plan;

import com.facebook.presto.common.type.ArrayType;
import com.facebook.presto.common.type.RowType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.spi.plan.UnnestNode;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Rows of the elements of an array or map. */
final class Elements {
  private Elements() {}

  /** Raises NotOffloaded. */
  static Part translate(UnnestNode node, Part input) {
    if (node.getUnnestVariables().size() != 1 || node.getOrdinalityVariable().isPresent()) {
      throw new NotOffloaded(Code.OPERATOR, "UNNEST of several arrays, or WITH ORDINALITY, is Presto's own");
    }
    Map.Entry<VariableReferenceExpression, List<VariableReferenceExpression>> of =
        node.getUnnestVariables().entrySet().iterator().next();
    Operator unnested = input.operator().unnest(input.column(of.getKey()), "element", false);
    Expression element = unnested.column(input.variables().size());
    List<VariableReferenceExpression> made = of.getValue();
    List<VariableReferenceExpression> variables = new ArrayList<>(node.getReplicateVariables());
    List<Expression> values = new ArrayList<>();
    variables.forEach(variable -> values.add(unnested.column(Part.index(input.variables(), variable))));
    boolean whole = isWhole(of.getKey().getType(), made.get(0).getType());
    for (int i = 0; i < made.size(); i++) {
      values.add(whole ? element : Expression.member(element, i));
    }
    variables.addAll(made);
    List<String> names = variables.stream().map(VariableReferenceExpression::getName).toList();
    return input.then(unnested.project(values, names), variables);
  }

  /** Whether a column of that type is the element itself; entries, and rows unless a session asks for them, are not. */
  private static boolean isWhole(Type list, Type made) {
    return list instanceof ArrayType array
        && (!(array.getElementType() instanceof RowType) || array.getElementType().equals(made));
  }
}
