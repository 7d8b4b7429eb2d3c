package io.jumpgate.presto.plan;

import com.facebook.presto.spi.function.FunctionMetadata;
import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.plan.AggregationNode;
import com.facebook.presto.spi.plan.AggregationNode.Aggregation;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Measure;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * An aggregation of Presto's: keys and measures, and a projection that computes from these what Presto's functions
 * are.
 */
final class Aggregates {
  private final FunctionMetadataManager functions;
  private final Part input;
  private final List<VariableReferenceExpression> keys;
  private final List<Measure> measures = new ArrayList<>();
  private final List<Function<Operator, Expression>> results = new ArrayList<>();
  private final List<VariableReferenceExpression> variables = new ArrayList<>();

  private Aggregates(FunctionMetadataManager functions, Part input, AggregationNode node) {
    this.functions = functions;
    this.input = input;
    this.keys = node.getGroupingKeys();
  }

  /** Raises NotOffloaded. */
  static Part translate(FunctionMetadataManager functions, Part input, AggregationNode node) {
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
      DataType type = input.column(keys.get(i)).type();
      if (type.kind() == DataType.Kind.FLOAT32 || type.kind() == DataType.Kind.FLOAT64) {
        throw new NotOffloaded(Code.DIALECT, "Presto makes a group of each NaN: " + keys.get(i).getName());
      }
      results.add(grouped -> grouped.column(column));
      variables.add(keys.get(i));
    }
  }

  private void add(VariableReferenceExpression variable, Aggregation aggregation) {
    FunctionMetadata function = functions.getFunctionMetadata(aggregation.getFunctionHandle());
    boolean plain = function.getName().toString().startsWith("presto.default.") && !aggregation.isDistinct()
        && aggregation.getOrderBy().isEmpty() && aggregation.getFilter().isEmpty();
    if (!plain) {
      throw unknown(aggregation);
    }
    DataType type = Types.jumpgate(variable.getType());
    variables.add(variable);
    results.add(switch (function.getName().getObjectName()) {
      case "count" -> measure(count(aggregation));
      case "sum" -> as(type, measure(Measure.sum(argument(aggregation), name())));
      case "min" -> measure(Measure.min(argument(aggregation), name()));
      case "max" -> measure(Measure.max(argument(aggregation), name()));
      case "avg" -> average(aggregation, type);
      default -> throw unknown(aggregation);
    });
  }

  private Measure count(Aggregation aggregation) {
    if (!aggregation.getArguments().isEmpty()) {
      return Measure.count(argument(aggregation), name());
    }
    return aggregation.getMask().isEmpty() ? Measure.countStar(name())
                                           : Measure.count(masked(aggregation, Expression.bool(true)), name());
  }

  private Function<Operator, Expression> average(Aggregation aggregation, DataType type) {
    Expression argument = argument(aggregation);
    if (type instanceof DataType.Decimal decimal) {
      Function<Operator, Expression> sum = measure(Measure.sum(argument, name()));
      Function<Operator, Expression> count = as(DataType.decimal(19, 0), measure(Measure.count(argument, name())));
      return grouped -> DecimalRules.quotient(sum.apply(grouped), count.apply(grouped), decimal);
    }
    return as(type, measure(Measure.avg(argument, name())));
  }

  private Expression argument(Aggregation aggregation) {
    RowExpression argument = aggregation.getArguments().get(0);
    return masked(aggregation, input.over(functions).translate(argument));
  }

  /** NULL in rows that do not count. */
  private Expression masked(Aggregation aggregation, Expression value) {
    return aggregation.getMask()
        .map(mask -> Expression.caseWhen(List.of(input.column(mask), value), Expression.nullOf(value.type())))
        .orElse(value);
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
    return input.then(grouped.project(values, names), variables);
  }

  private static NotOffloaded unknown(Aggregation aggregation) {
    return new NotOffloaded(Code.AGGREGATE, "Presto computes " + aggregation.getCall());
  }
}
