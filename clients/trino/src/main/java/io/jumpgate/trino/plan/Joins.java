package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.trino.TableHandle;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.JoinApplicationResult;
import io.trino.spi.connector.JoinType;
import io.trino.spi.expression.Call;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.StandardFunctions;
import io.trino.spi.expression.Variable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Joins of two handles: equal keys, and what else must hold of a pair. */
public final class Joins {
  private final Map<String, ColumnHandle> leftColumns;
  private final Map<String, ColumnHandle> rightColumns;
  private final TableHandle left;
  private final TableHandle right;
  private final List<Expression> leftKeys = new ArrayList<>();
  private final List<Expression> rightKeys = new ArrayList<>();
  private final List<Expression> others = new ArrayList<>();

  private Joins(TableHandle left, TableHandle right, Map<String, ColumnHandle> leftColumns,
      Map<String, ColumnHandle> rightColumns) {
    this.left = left;
    this.right = right;
    this.leftColumns = leftColumns;
    this.rightColumns = rightColumns;
  }

  /** Raises NotOffloaded. */
  public static JoinApplicationResult<ConnectorTableHandle> apply(JoinType type, TableHandle left, TableHandle right,
      ConnectorExpression condition, Map<String, ColumnHandle> leftColumns, Map<String, ColumnHandle> rightColumns) {
    Joins join = new Joins(left, right, leftColumns, rightColumns);
    Filters.conjuncts(condition).forEach(join::add);
    if (join.leftKeys.isEmpty()) {
      throw new NotOffloaded(Code.JOIN, "no column of one side equals one of the other: " + condition);
    }
    return join.result(switch (type) {
      case INNER -> Operator.JoinType.INNER;
      case LEFT_OUTER -> Operator.JoinType.LEFT;
      case RIGHT_OUTER -> Operator.JoinType.RIGHT;
      case FULL_OUTER -> Operator.JoinType.FULL;
    });
  }

  private void add(ConnectorExpression term) {
    if (term instanceof Call call && call.getFunctionName().equals(StandardFunctions.EQUAL_OPERATOR_FUNCTION_NAME)) {
      ConnectorExpression a = call.getArguments().get(0);
      ConnectorExpression b = call.getArguments().get(1);
      if (isOver(a, leftColumns.keySet()) && isOver(b, rightColumns.keySet())) {
        addKeys(a, b);
        return;
      }
      if (isOver(a, rightColumns.keySet()) && isOver(b, leftColumns.keySet())) {
        addKeys(b, a);
        return;
      }
    }
    int rightAt = left.operator().schema().size();
    List<Field> pairs = left.operator().pairedWith(right.operator());
    Scope scope = Scope.of(pairs, leftColumns, rightColumns, rightAt);
    others.add(new ExpressionTranslator(scope).translate(term));
  }

  private void addKeys(ConnectorExpression a, ConnectorExpression b) {
    Expression leftKey = new ExpressionTranslator(Scope.of(left.operator().schema(), leftColumns)).translate(a);
    Expression rightKey = new ExpressionTranslator(Scope.of(right.operator().schema(), rightColumns)).translate(b);
    if (leftKey.type().isFloat()) {
      throw new NotOffloaded(Code.DIALECT, "Trino compares NaN and -0.0 in its own way: " + a);
    }
    leftKeys.add(leftKey);
    rightKeys.add(rightKey);
  }

  /** Whether it has columns of this side, and of no other. */
  private static boolean isOver(ConnectorExpression e, Set<String> side) {
    Set<String> names = new HashSet<>();
    collect(e, names);
    return !names.isEmpty() && side.containsAll(names);
  }

  private static void collect(ConnectorExpression e, Set<String> names) {
    if (e instanceof Variable variable) {
      names.add(variable.getName());
    }
    e.getChildren().forEach(child -> collect(child, names));
  }

  private JoinApplicationResult<ConnectorTableHandle> result(Operator.JoinType type) {
    Optional<Expression> residual = others.isEmpty() ? Optional.empty() : Optional.of(Filters.all(others));
    Operator joined = left.operator().join(right.operator(), type, leftKeys, rightKeys, residual);
    TableHandle handle = left.join(right, joined);
    return new JoinApplicationResult<>(
        handle, moved(left, handle, 0), moved(right, handle, left.columns().size()), false);
  }

  private static Map<ColumnHandle, ColumnHandle> moved(TableHandle side, TableHandle joined, int by) {
    Map<ColumnHandle, ColumnHandle> moved = new HashMap<>();
    side.columns().forEach(column -> moved.put(column, joined.columns().get(by + column.index())));
    return moved;
  }
}
