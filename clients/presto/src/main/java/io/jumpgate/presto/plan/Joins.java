package io.jumpgate.presto.plan;

import com.facebook.presto.spi.plan.EquiJoinClause;
import com.facebook.presto.spi.plan.JoinNode;
import com.facebook.presto.spi.plan.SemiJoinNode;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Joins of Presto's. All raise NotOffloaded. */
final class Joins {
  private Joins() {}

  static Part join(Functions functions, JoinNode node, Part left, Part right) {
    List<Expression> leftKeys = new ArrayList<>();
    List<Expression> rightKeys = new ArrayList<>();
    for (EquiJoinClause clause : node.getCriteria()) {
      leftKeys.add(left.key(clause.getLeft()));
      rightKeys.add(right.key(clause.getRight()));
      requireSame(leftKeys.get(leftKeys.size() - 1).type(), rightKeys.get(rightKeys.size() - 1).type());
    }
    List<Field> pair = left.operator().pairedWith(right.operator());
    List<VariableReferenceExpression> variables = new ArrayList<>(left.variables());
    variables.addAll(right.variables());
    Optional<Expression> residual = node.getFilter().map(filter -> residual(functions, filter, variables, pair));
    Operator joined = left.operator().join(right.operator(), type(node), leftKeys, rightKeys, residual);
    return left.then(joined, variables).inOrder(false).select(node.getOutputVariables());
  }

  /** The left rows, and of each whether it has a partner, or NULL where that is unknown. */
  static Part semiJoin(SemiJoinNode node, Part left, Part right) {
    Expression leftKey = left.key(node.getSourceJoinVariable());
    Expression rightKey = right.key(node.getFilteringSourceJoinVariable());
    requireSame(leftKey.type(), rightKey.type());
    Operator joined = left.operator().join(
        right.operator(), Operator.JoinType.MARK, List.of(leftKey), List.of(rightKey), Optional.empty());
    List<VariableReferenceExpression> variables = new ArrayList<>(left.variables());
    variables.add(node.getSemiJoinOutput());
    return left.then(joined, variables).inOrder(false);
  }

  private static Expression residual(
      Functions functions, RowExpression filter, List<VariableReferenceExpression> variables, List<Field> pair) {
    return new ExpressionTranslator(functions, variable -> Expression.column(Part.index(variables, variable), pair))
        .translate(filter);
  }

  private static Operator.JoinType type(JoinNode node) {
    return switch (node.getType()) {
      case INNER -> Operator.JoinType.INNER;
      case LEFT -> Operator.JoinType.LEFT;
      case RIGHT -> Operator.JoinType.RIGHT;
      case FULL -> Operator.JoinType.FULL;
      default -> throw new NotOffloaded(Code.JOIN, "joins of type " + node.getType() + " are Presto's own");
    };
  }

  private static void requireSame(DataType left, DataType right) {
    if (!left.same(right)) {
      throw new NotOffloaded(Code.TYPE, "keys of a join differ in their types: " + left.name() + ", " + right.name());
    }
  }
}
