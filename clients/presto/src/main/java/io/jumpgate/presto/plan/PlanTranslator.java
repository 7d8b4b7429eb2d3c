package io.jumpgate.presto.plan;

import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.plan.AggregationNode;
import com.facebook.presto.spi.plan.DistinctLimitNode;
import com.facebook.presto.spi.plan.FilterNode;
import com.facebook.presto.spi.plan.JoinNode;
import com.facebook.presto.spi.plan.LimitNode;
import com.facebook.presto.spi.plan.MarkDistinctNode;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.ProjectNode;
import com.facebook.presto.spi.plan.SemiJoinNode;
import com.facebook.presto.spi.plan.SortNode;
import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.plan.TopNNode;
import com.facebook.presto.spi.plan.UnionNode;
import com.facebook.presto.spi.plan.UnnestNode;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.explain.Reason;
import io.jumpgate.presto.JumpgateColumn;
import io.jumpgate.presto.SessionProperties;
import io.jumpgate.presto.TableHandle;
import io.jumpgate.settings.OperatorSwitch;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Operators of a plan as those of a dataflow. */
final class PlanTranslator {
  private final Functions functions;
  private final SessionProperties properties;

  PlanTranslator(Functions functions, SessionProperties properties) {
    this.functions = functions;
    this.properties = properties;
  }

  /** The operator above its inputs, which are offloaded. Raises NotOffloaded. */
  Part translate(PlanNode node, List<Part> inputs) {
    if (node instanceof TableScanNode scan) {
      return scan(scan);
    }
    if (node instanceof AggregationNode aggregation) {
      require(aggregation.getAggregations().isEmpty() ? OperatorSwitch.DISTINCT : OperatorSwitch.AGGREGATION);
      return Aggregates.translate(functions, inputs.get(0), aggregation);
    }
    if (node instanceof MarkDistinctNode mark) {
      require(OperatorSwitch.AGGREGATION);
      return inputs.get(0).marked(mark.getMarkerVariable(), mark.getDistinctVariables());
    }
    if (!inputs.stream().allMatch(input -> input.marks().isEmpty())) {
      throw new NotOffloaded(Code.AGGREGATE, "only aggregations know which rows are distinct");
    }
    if (node instanceof FilterNode filter) {
      return filter(filter.getPredicate(), inputs.get(0));
    }
    if (node instanceof ProjectNode project) {
      return project(project, inputs.get(0));
    }
    if (node instanceof DistinctLimitNode limit) {
      return distinct(limit, inputs.get(0));
    }
    if (node instanceof LimitNode limit) {
      require(OperatorSwitch.LIMIT);
      return inputs.get(0).then(inputs.get(0).operator().limit(limit.getCount(), 0), inputs.get(0).variables());
    }
    if (node instanceof TopNNode top) {
      return top(top, inputs.get(0));
    }
    if (node instanceof UnionNode union) {
      return union(union, inputs);
    }
    if (node instanceof JoinNode join) {
      require(OperatorSwitch.JOIN);
      return Joins.join(functions, join, inputs.get(0), inputs.get(1));
    }
    if (node instanceof SemiJoinNode join) {
      require(OperatorSwitch.SEMI_JOIN);
      return Joins.semiJoin(join, inputs.get(0), inputs.get(1));
    }
    if (node instanceof UnnestNode unnest) {
      require(OperatorSwitch.UNNEST);
      return Elements.translate(unnest, inputs.get(0));
    }
    throw new NotOffloaded(Code.OPERATOR,
        node instanceof SortNode ? "Presto does not rely on the order in which rows arrive" : "it is not offloaded");
  }

  /** The rows for which the predicate is true. Raises NotOffloaded. */
  Part filter(RowExpression predicate, Part input) {
    require(OperatorSwitch.FILTER);
    Expression translated = input.over(functions).translate(predicate);
    return input.then(input.operator().filter(translated), input.variables());
  }

  /** Whether a predicate needs no other to guard it. */
  boolean cannotFail(RowExpression predicate) {
    return Conjuncts.cannotFail(predicate, functions);
  }

  private Part scan(TableScanNode node) {
    Map<VariableReferenceExpression, ColumnHandle> columns = node.getAssignments();
    List<Integer> indices =
        node.getOutputVariables().stream().map(v -> ((JumpgateColumn) columns.get(v)).index()).toList();
    TableHandle table = (TableHandle) node.getTable().getConnectorHandle();
    return new Part(table.source().read(indices), node.getOutputVariables(), node, false, Map.of());
  }

  private Part project(ProjectNode node, Part input) {
    List<VariableReferenceExpression> variables = node.getOutputVariables();
    if (!node.getAssignments().getExpressions().stream().allMatch(VariableReferenceExpression.class ::isInstance)) {
      require(OperatorSwitch.PROJECT);
    }
    ExpressionTranslator over = input.over(functions);
    List<Expression> values = variables.stream().map(node.getAssignments()::get).map(over::passed).toList();
    List<String> names = variables.stream().map(VariableReferenceExpression::getName).toList();
    return input.then(input.operator().project(values, names), variables);
  }

  private Part distinct(DistinctLimitNode node, Part input) {
    require(OperatorSwitch.DISTINCT);
    require(OperatorSwitch.LIMIT);
    node.getDistinctVariables().forEach(input::key);
    Part selected = input.select(node.getDistinctVariables());
    return selected.then(selected.operator().distinct().limit(node.getLimit(), 0), selected.variables()).inOrder(false);
  }

  private Part top(TopNNode node, Part input) {
    require(OperatorSwitch.TOP_N);
    List<Expression.SortKey> keys = node.getOrderingScheme()
                                        .getOrderBy()
                                        .stream()
                                        .map(by
                                            -> new Expression.SortKey(input.key(by.getVariable()),
                                                !by.getSortOrder().isAscending(), by.getSortOrder().isNullsFirst()))
                                        .toList();
    return input.then(input.operator().topN(keys, node.getCount(), 0), input.variables()).inOrder(true);
  }

  private Part union(UnionNode node, List<Part> inputs) {
    require(OperatorSwitch.UNION);
    List<Operator> members = IntStream.range(0, inputs.size())
                                 .mapToObj(i -> inputs.get(i).select(node.sourceOutputLayout(i)).operator())
                                 .toList();
    List<DataType> types = types(members.get(0));
    for (Operator member : members) {
      if (!IntStream.range(0, types.size()).allMatch(i -> types(member).get(i).same(types.get(i)))) {
        throw new NotOffloaded(Code.TYPE, "the inputs differ in their types");
      }
    }
    return new Part(Operator.unionAll(members), node.getOutputVariables(), inputs.get(0).scan(), false, Map.of());
  }

  private static List<DataType> types(Operator operator) {
    return operator.schema().stream().map(Field::type).toList();
  }

  private void require(OperatorSwitch operator) {
    if (properties.disabled().contains(operator)) {
      throw new NotOffloaded(operator.left("Presto"));
    }
  }
}
