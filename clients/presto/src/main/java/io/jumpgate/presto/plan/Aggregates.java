package io.jumpgate.presto.plan;

import com.facebook.presto.spi.plan.AggregationNode;
import com.facebook.presto.spi.plan.AggregationNode.Aggregation;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlAggregates;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/**
 * An aggregation of Presto's: keys and measures, and a projection that computes from these what Presto's functions
 * are.
 */
final class Aggregates {
  private final Functions functions;
  private final Part input;
  private final List<VariableReferenceExpression> keys;
  private final SqlAggregates shared;
  private final List<Function<Operator, Expression>> results = new ArrayList<>();
  private final List<VariableReferenceExpression> variables = new ArrayList<>();

  private Aggregates(Functions functions, Part input, AggregationNode node) {
    this.functions = functions;
    this.input = input;
    this.keys = node.getGroupingKeys();
    this.shared = new SqlAggregates(keys.size());
  }

  /** Raises NotOffloaded. */
  static Part translate(Functions functions, Part input, AggregationNode node) {
    if (node.getGroupingSetCount() != 1 || node.getGroupIdVariable().isPresent()) {
      throw new NotOffloaded(Code.AGGREGATE, "several grouping sets are Presto's own");
    }
    if (node.getStep() != AggregationNode.Step.SINGLE) {
      throw new NotOffloaded(Code.AGGREGATE, "an aggregation in steps is Presto's own");
    }
    Aggregates aggregates = new Aggregates(functions, input, node);
    aggregates.keys();
    node.getAggregations().forEach(aggregates::add);
    return aggregates.part();
  }

  private void keys() {
    for (int i = 0; i < keys.size(); i++) {
      int column = i;
      results.add(grouped -> grouped.column(column));
      variables.add(keys.get(i));
    }
  }

  private void add(VariableReferenceExpression variable, Aggregation aggregation) {
    if (aggregation.isDistinct() || aggregation.getOrderBy().isPresent() || aggregation.getFilter().isPresent()) {
      throw unknown(aggregation);
    }
    variables.add(variable);
    boolean distinct = aggregation.getMask().filter(input.marks()::containsKey).isPresent();
    String name = functions.name(aggregation.getFunctionHandle());
    if (name.equals("array_agg") && (distinct || aggregation.getMask().isEmpty())) {
      results.add(shared.addList(passed(aggregation), distinct).orElseThrow(() -> unknown(aggregation)));
      return;
    }
    DataType type = Types.jumpgate(variable.getType());
    List<Expression> arguments =
        name.equals("count") && aggregation.getMask().isEmpty() ? passed(aggregation) : arguments(aggregation);
    results.add(shared.add(name, type, arguments, distinct).orElseThrow(() -> unknown(aggregation)));
  }

  /** The arguments of all rows, which nobody compares. */
  private List<Expression> passed(Aggregation aggregation) {
    return aggregation.getArguments().stream().map(input.over(functions)::passed).toList();
  }

  /** The arguments, which are NULL in rows that do not count. */
  private List<Expression> arguments(Aggregation aggregation) {
    List<Expression> values = new ArrayList<>();
    aggregation.getArguments().forEach(argument -> values.add(input.over(functions).translate(argument)));
    if (values.isEmpty() && aggregation.getMask().isPresent()) {
      values.add(Expression.bool(true));
    }
    values.replaceAll(value -> masked(aggregation, value));
    return values;
  }

  /** NULL in rows that do not count; where those that count differ in group and value, the measure sees to it. */
  private Expression masked(Aggregation aggregation, Expression value) {
    if (aggregation.getMask().isEmpty()) {
      return value;
    }
    VariableReferenceExpression mask = aggregation.getMask().get();
    if (!input.marks().containsKey(mask)) {
      return Expression.caseWhen(List.of(input.column(mask), value), Expression.nullOf(value.type()));
    }
    Set<RowExpression> columns = new HashSet<>(keys);
    columns.addAll(aggregation.getArguments());
    if (aggregation.getArguments().isEmpty() || !input.marks().get(mask).equals(columns)) {
      throw unknown(aggregation);
    }
    return value;
  }

  private Part part() {
    List<String> keyNames = keys.stream().map(VariableReferenceExpression::getName).toList();
    Operator grouped = input.operator().aggregate(
        keys.stream().map(input::key).toList(), keyNames, shared.measures(), Operator.Phase.FULL);
    List<Expression> values = results.stream().map(result -> result.apply(grouped)).toList();
    List<String> names = variables.stream().map(VariableReferenceExpression::getName).toList();
    return input.then(grouped.project(values, names), variables).inOrder(false);
  }

  private NotOffloaded unknown(Aggregation aggregation) {
    return new NotOffloaded(Code.AGGREGATE, "Presto computes " + functions.text(aggregation.getCall()));
  }
}
