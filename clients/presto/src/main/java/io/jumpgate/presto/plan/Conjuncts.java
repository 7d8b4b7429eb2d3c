package io.jumpgate.presto.plan;

import com.facebook.presto.common.function.OperatorType;
import com.facebook.presto.common.type.BooleanType;
import com.facebook.presto.spi.relation.CallExpression;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.SpecialFormExpression;
import com.facebook.presto.spi.relation.SpecialFormExpression.Form;
import java.util.List;

/** The terms of a predicate, all of which must hold. */
final class Conjuncts {
  private Conjuncts() {}

  static List<RowExpression> of(RowExpression predicate) {
    if (predicate instanceof SpecialFormExpression form && form.getForm() == Form.AND) {
      return form.getArguments().stream().flatMap(term -> of(term).stream()).toList();
    }
    return List.of(predicate);
  }

  /** Their conjunction; there is one at least. */
  static RowExpression and(List<RowExpression> terms) {
    return terms.stream()
        .reduce((a, b) -> new SpecialFormExpression(Form.AND, BooleanType.BOOLEAN, a, b))
        .orElseThrow();
  }

  /** Whether it has a value for every row, so that no other term need guard it. */
  static boolean cannotFail(RowExpression term, Functions functions) {
    boolean total = true;
    if (term instanceof CallExpression call) {
      total = functions.operator(call.getFunctionHandle())
                  .map(operator -> operator.isComparisonOperator() || operator == OperatorType.BETWEEN)
                  .orElseGet(() -> functions.name(call.getFunctionHandle()).equals("not"));
    }
    return total && term.getChildren().stream().allMatch(child -> cannotFail(child, functions));
  }
}
