package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Measure;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.trino.JumpgateColumn;
import io.jumpgate.trino.TableHandle;
import io.trino.spi.connector.AggregateFunction;
import io.trino.spi.connector.AggregationApplicationResult;
import io.trino.spi.connector.Assignment;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.Type;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An aggregation of Trino's: keys and measures, and a projection that computes from these what Trino's functions are.
 */
public final class Aggregates {
  private final Scope scope;
  private final int keys;
  private final List<Measure> measures = new ArrayList<>();

  private Aggregates(Scope scope, int keys) {
    this.scope = scope;
    this.keys = keys;
  }

  /** Raises NotOffloaded. */
  public static AggregationApplicationResult<ConnectorTableHandle> apply(TableHandle handle,
      List<AggregateFunction> functions, Map<String, ColumnHandle> assignments, List<List<ColumnHandle>> groupingSets) {
    if (groupingSets.size() != 1) {
      throw new NotOffloaded(Code.AGGREGATE, "several grouping sets are Trino's own");
    }
    List<JumpgateColumn> keys = groupingSets.get(0).stream().map(c -> (JumpgateColumn) c).toList();
    Operator input = handle.operator();
    for (JumpgateColumn key : keys) {
      if (Types.isFloat(input.schema().get(key.index()).type())) {
        throw new NotOffloaded(Code.DIALECT, "Trino groups NaN and -0.0 in its own way: " + key.name());
      }
    }
    Aggregates aggregates = new Aggregates(Scope.of(input.schema(), assignments), keys.size());
    List<Function<Operator, Expression>> results = functions.stream().map(aggregates::add).toList();
    Operator grouped = input.aggregate(keys.stream().map(key -> input.column(key.index())).toList(),
        keys.stream().map(JumpgateColumn::name).toList(), aggregates.measures, Operator.Phase.FULL);
    return result(handle, keys, functions, grouped, results);
  }

  private static AggregationApplicationResult<ConnectorTableHandle> result(TableHandle handle,
      List<JumpgateColumn> keys, List<AggregateFunction> functions, Operator grouped,
      List<Function<Operator, Expression>> results) {
    List<Expression> values = new ArrayList<>(IntStream.range(0, keys.size()).mapToObj(grouped::column).toList());
    List<String> names = new ArrayList<>(keys.stream().map(JumpgateColumn::name).toList());
    for (int i = 0; i < results.size(); i++) {
      values.add(results.get(i).apply(grouped));
      names.add("aggregate_" + i);
    }
    Operator above = grouped.project(values, names);
    List<Type> shown =
        Stream
            .concat(keys.stream().map(JumpgateColumn::shown), functions.stream().map(AggregateFunction::getOutputType))
            .toList();
    TableHandle next = handle.then(above, shown);
    Map<ColumnHandle, ColumnHandle> groupingColumns = new LinkedHashMap<>();
    IntStream.range(0, keys.size()).forEach(i -> groupingColumns.put(keys.get(i), next.columns().get(i)));
    List<Assignment> assigned = IntStream.range(0, shown.size())
                                    .mapToObj(i -> new Assignment("grouped_" + i, next.columns().get(i), shown.get(i)))
                                    .toList();
    List<ConnectorExpression> projections =
        IntStream.range(keys.size(), shown.size()).mapToObj(i -> variable(assigned.get(i))).toList();
    return new AggregationApplicationResult<>(next, projections, assigned, groupingColumns, false);
  }

  private static ConnectorExpression variable(Assignment assignment) {
    return new Variable(assignment.getVariable(), assignment.getType());
  }

  /** The function's value, of the operator that has the measures. */
  private Function<Operator, Expression> add(AggregateFunction function) {
    if (!function.getSortItems().isEmpty()) {
      throw unknown(function);
    }
    DataType type = Types.jumpgate(function.getOutputType());
    return switch (function.getFunctionName()) {
      case "count" -> measure(count(function));
      case "sum" -> as(type, measure(distinct(function, Measure.sum(argument(function), name()))));
      case "min" -> measure(Measure.min(ordered(function), name()));
      case "max" -> measure(Measure.max(ordered(function), name()));
      case "avg" -> average(function, type);
      case "stddev", "stddev_samp" -> spread(function, "stddev");
      case "stddev_pop" -> spread(function, "stddev_pop");
      case "variance", "var_samp" -> spread(function, "variance");
      case "var_pop" -> spread(function, "variance_pop");
      case "covar_pop", "covar_samp" -> pairs(function, type);
      case "corr" -> pairs(function, type).andThen(SqlFunctions::finite);
      default -> throw unknown(function);
    };
  }

  private Measure count(AggregateFunction function) {
    if (!function.getArguments().isEmpty()) {
      return distinct(function, Measure.count(argument(function), name()));
    }
    return function.getFilter().isEmpty() ? Measure.countStar(name())
                                          : Measure.count(counted(function, Expression.bool(true)), name());
  }

  private Function<Operator, Expression> average(AggregateFunction function, DataType type) {
    Expression argument = argument(function);
    if (!(type instanceof DataType.Decimal decimal)) {
      return as(type, measure(distinct(function, Measure.avg(argument, name()))));
    }
    Function<Operator, Expression> sum = measure(distinct(function, Measure.sum(argument, name())));
    Measure counted = distinct(function, Measure.count(argument, name()));
    Function<Operator, Expression> count = as(DataType.decimal(19, 0), measure(counted));
    return grouped -> DecimalRules.quotient(sum.apply(grouped), count.apply(grouped), decimal);
  }

  private Function<Operator, Expression> spread(AggregateFunction function, String measure) {
    Expression argument = Types.cast(argument(function), DataType.FLOAT64);
    return measure(distinct(function, new Measure(measure, List.of(argument), DataType.FLOAT64, name())));
  }

  private Function<Operator, Expression> pairs(AggregateFunction function, DataType type) {
    if (function.isDistinct() || !type.same(DataType.FLOAT64)) {
      throw unknown(function);
    }
    Expression other = new ExpressionTranslator(scope).translate(function.getArguments().get(1));
    return measure(
        new Measure(function.getFunctionName(), List.of(argument(function), other), DataType.FLOAT64, name()));
  }

  private static Measure distinct(AggregateFunction function, Measure measure) {
    return function.isDistinct()
        ? new Measure(measure.function() + "_distinct", measure.arguments(), measure.type(), measure.name())
        : measure;
  }

  private Expression argument(AggregateFunction function) {
    if (function.getArguments().isEmpty()) {
      throw unknown(function);
    }
    return counted(function, new ExpressionTranslator(scope).translate(function.getArguments().get(0)));
  }

  private Expression ordered(AggregateFunction function) {
    Expression argument = argument(function);
    if (Types.isFloat(argument.type())) {
      throw new NotOffloaded(Code.DIALECT, "Trino orders NaN and -0.0 in its own way: " + function.getFunctionName());
    }
    return argument;
  }

  /** NULL in rows that the function's filter leaves out. */
  private Expression counted(AggregateFunction function, Expression value) {
    return function.getFilter()
        .map(filter
            -> Expression.caseWhen(
                List.of(new ExpressionTranslator(scope).translate(filter), value), Expression.nullOf(value.type())))
        .orElse(value);
  }

  private Function<Operator, Expression> measure(Measure measure) {
    int column = keys + measures.size();
    measures.add(measure);
    return grouped -> grouped.column(column);
  }

  private static Function<Operator, Expression> as(DataType type, Function<Operator, Expression> value) {
    return grouped -> Types.cast(value.apply(grouped), type);
  }

  private String name() {
    return "m" + measures.size();
  }

  private static NotOffloaded unknown(AggregateFunction function) {
    return new NotOffloaded(Code.AGGREGATE, "Trino computes " + function.getFunctionName());
  }
}
