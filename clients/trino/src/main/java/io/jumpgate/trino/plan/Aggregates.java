package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlAggregates;
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
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An aggregation of Trino's: keys and measures, and a projection that computes from these what Trino's functions are.
 */
public final class Aggregates {
  /** Functions of which a repeated value changes nothing, but an order of floats does. */
  private static final Set<String> ORDERED = Set.of("min", "max");

  private final Scope scope;
  private final SqlAggregates shared;

  private Aggregates(Scope scope, int keys) {
    this.scope = scope;
    this.shared = new SqlAggregates(keys);
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
      Types.requireScalar(key.name(), input.schema().get(key.index()).type());
      if (input.schema().get(key.index()).type().isFloat()) {
        throw new NotOffloaded(Code.DIALECT, "Trino groups NaN and -0.0 in its own way: " + key.name());
      }
    }
    Aggregates aggregates = new Aggregates(Scope.of(input.schema(), assignments), keys.size());
    List<Function<Operator, Expression>> results = functions.stream().map(aggregates::add).toList();
    Operator grouped = input.aggregate(keys.stream().map(key -> input.column(key.index())).toList(),
        keys.stream().map(JumpgateColumn::name).toList(), aggregates.shared.measures(), Operator.Phase.FULL);
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
    String name = function.getFunctionName();
    if (name.equals("array_agg") && function.getFilter().isEmpty()) {
      return shared.addList(passed(function), function.isDistinct()).orElseThrow(() -> unknown(function));
    }
    DataType type = Types.jumpgate(function.getOutputType());
    boolean counted = name.equals("count") && function.getFilter().isEmpty() && !function.isDistinct();
    List<Expression> arguments = counted ? passed(function) : arguments(function);
    if (ORDERED.contains(name) && arguments.get(0).type().isFloat()) {
      throw new NotOffloaded(Code.DIALECT, "Trino orders NaN and -0.0 in its own way: " + name);
    }
    return shared.add(name, type, arguments, function.isDistinct() && !ORDERED.contains(name))
        .orElseThrow(() -> unknown(function));
  }

  /** The arguments of all rows, which nobody compares. */
  private List<Expression> passed(AggregateFunction function) {
    ExpressionTranslator translator = new ExpressionTranslator(scope);
    return function.getArguments().stream().map(translator::passed).toList();
  }

  /** The arguments, which are NULL in rows that the function's filter leaves out. */
  private List<Expression> arguments(AggregateFunction function) {
    ExpressionTranslator translator = new ExpressionTranslator(scope);
    List<Expression> values = new ArrayList<>();
    function.getArguments().forEach(argument -> values.add(translator.translate(argument)));
    if (values.isEmpty() && function.getFilter().isPresent()) {
      values.add(Expression.bool(true));
    }
    if (function.getFilter().isPresent()) {
      Expression counts = translator.translate(function.getFilter().get());
      values.replaceAll(value -> Expression.caseWhen(List.of(counts, value), Expression.nullOf(value.type())));
    }
    return values;
  }

  private static NotOffloaded unknown(AggregateFunction function) {
    return new NotOffloaded(Code.AGGREGATE, "Trino computes " + function.getFunctionName());
  }
}
