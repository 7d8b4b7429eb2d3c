package io.jumpgate.presto.plan;

import com.facebook.presto.spi.plan.AggregationNode;
import com.facebook.presto.spi.plan.AggregationNode.Aggregation;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Measure;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
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
  private final List<Measure> measures = new ArrayList<>();
  private final List<Function<Operator, Expression>> results = new ArrayList<>();
  private final List<VariableReferenceExpression> variables = new ArrayList<>();

  private Aggregates(Functions functions, Part input, AggregationNode node) {
    this.functions = functions;
    this.input = input;
    this.keys = node.getGroupingKeys();
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
    DataType type = Types.jumpgate(variable.getType());
    variables.add(variable);
    results.add(switch (functions.name(aggregation.getFunctionHandle())) {
      case "count" -> measure(count(aggregation));
      case "sum" -> as(type, measure(distinct(aggregation, Measure.sum(argument(aggregation), name()))));
      case "min" -> measure(Measure.min(argument(aggregation), name()));
      case "max" -> measure(Measure.max(argument(aggregation), name()));
      case "avg" -> average(aggregation, type);
      case "stddev", "stddev_samp" -> spread(aggregation, "stddev");
      case "stddev_pop" -> spread(aggregation, "stddev_pop");
      case "variance", "var_samp" -> spread(aggregation, "variance");
      case "var_pop" -> spread(aggregation, "variance_pop");
      case "covar_pop", "covar_samp" -> pairs(aggregation, type);
      case "corr" -> pairs(aggregation, type).andThen(SqlFunctions::finite);
      default -> throw unknown(aggregation);
    });
  }

  private Measure count(Aggregation aggregation) {
    if (!aggregation.getArguments().isEmpty()) {
      return distinct(aggregation, Measure.count(argument(aggregation), name()));
    }
    return aggregation.getMask().isEmpty() ? Measure.countStar(name())
                                           : Measure.count(masked(aggregation, Expression.bool(true)), name());
  }

  private Function<Operator, Expression> average(Aggregation aggregation, DataType type) {
    Expression argument = argument(aggregation);
    if (type instanceof DataType.Decimal decimal) {
      Function<Operator, Expression> sum = measure(distinct(aggregation, Measure.sum(argument, name())));
      Measure counted = distinct(aggregation, Measure.count(argument, name()));
      Function<Operator, Expression> count = as(DataType.decimal(19, 0), measure(counted));
      return grouped -> DecimalRules.quotient(sum.apply(grouped), count.apply(grouped), decimal);
    }
    return as(type, measure(distinct(aggregation, Measure.avg(argument, name()))));
  }

  private Function<Operator, Expression> spread(Aggregation aggregation, String function) {
    Expression argument = Types.cast(argument(aggregation), DataType.FLOAT64);
    return measure(distinct(aggregation, new Measure(function, List.of(argument), DataType.FLOAT64, name())));
  }

  private Function<Operator, Expression> pairs(Aggregation aggregation, DataType type) {
    boolean marked = aggregation.getMask().filter(input.marks()::containsKey).isPresent();
    if (marked || !type.same(DataType.FLOAT64)) {
      throw unknown(aggregation);
    }
    Expression other = input.over(functions).translate(aggregation.getArguments().get(1));
    return measure(new Measure(functions.name(aggregation.getFunctionHandle()), List.of(argument(aggregation), other),
        DataType.FLOAT64, name()));
  }

  /** The measure of values that differ, if the aggregation's mask says that it is of these. */
  private Measure distinct(Aggregation aggregation, Measure measure) {
    boolean marked = aggregation.getMask().filter(input.marks()::containsKey).isPresent();
    return marked ? new Measure(measure.function() + "_distinct", measure.arguments(), measure.type(), measure.name())
                  : measure;
  }

  private Expression argument(Aggregation aggregation) {
    RowExpression argument = aggregation.getArguments().get(0);
    return masked(aggregation, input.over(functions).translate(argument));
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

  private Function<Operator, Expression> measure(Measure measure) {
    int column = keys.size() + measures.size();
    measures.add(measure);
    return grouped -> grouped.column(column);
  }

  private static Function<Operator, Expression> as(DataType type, Function<Operator, Expression> value) {
    return grouped -> Types.cast(value.apply(grouped), type);
  }

  private String name() {
    return "m" + measures.size();
  }

  private Part part() {
    List<String> keyNames = keys.stream().map(VariableReferenceExpression::getName).toList();
    Operator grouped =
        input.operator().aggregate(keys.stream().map(input::column).toList(), keyNames, measures, Operator.Phase.FULL);
    List<Expression> values = results.stream().map(result -> result.apply(grouped)).toList();
    List<String> names = variables.stream().map(VariableReferenceExpression::getName).toList();
    return input.then(grouped.project(values, names), variables).inOrder(false);
  }

  private NotOffloaded unknown(Aggregation aggregation) {
    return new NotOffloaded(Code.AGGREGATE, "Presto computes " + functions.text(aggregation.getCall()));
  }
}
