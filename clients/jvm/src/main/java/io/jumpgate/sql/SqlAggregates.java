package io.jumpgate.sql;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Expression.SortKey;
import io.jumpgate.dataflow.Measure;
import io.jumpgate.dataflow.MeasureFunction;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.dataflow.SqlFunctions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Aggregate functions that have one meaning in Presto and Trino: measures, and how a function's value is computed from
 * them.
 */
public final class SqlAggregates {
  private final int keys;
  private final List<Measure> measures = new ArrayList<>();
  private final List<Integer> lists = new ArrayList<>();
  private boolean isNested;

  /** {@code keys}: how many columns are before the measures. */
  public SqlAggregates(int keys) {
    this.keys = keys;
  }

  public List<Measure> measures() {
    if (lists.size() > 1) {
      List<SortKey> together = lists.stream()
                                   .map(i -> measures.get(i).arguments().get(0))
                                   .filter(e -> !(e.type() instanceof DataType.Nested))
                                   .map(e -> new SortKey(e, false, false))
                                   .toList();
      lists.forEach(i -> {
        Measure list = measures.get(i);
        measures.set(i, new Measure(list.function(), list.arguments(), list.name(), together));
      });
    }
    return measures;
  }

  /**
   * The value of {@code array_agg}, whose elements are in no order that an engine promises; but those at one place of
   * several arrays are of one row, of which one may have nested values. Empty: the engine is to say which values
   * differ.
   */
  public Optional<Function<Operator, Expression>> addList(List<Expression> arguments, boolean distinct) {
    boolean nested = arguments.get(0).type() instanceof DataType.Nested;
    if (distinct && (nested || arguments.get(0).type().isFloat()) || nested && isNested) {
      return Optional.empty();
    }
    isNested |= nested;
    if (!distinct) {
      lists.add(measures.size());
    }
    return Optional.of(measure(MeasureFunction.ARRAY_AGG, arguments, distinct));
  }

  /**
   * A function's value, of the operator that has the measures; empty: engines differ, or it is not known. The arguments
   * are NULL in rows that do not count.
   */
  public Optional<Function<Operator, Expression>> add(
      String name, DataType type, List<Expression> arguments, boolean distinct) {
    if (name.equals("count")) {
      return Optional.of(arguments.isEmpty() ? measure(MeasureFunction.COUNT_STAR, arguments, false)
                                             : measure(MeasureFunction.COUNT, arguments, distinct));
    }
    if (arguments.isEmpty()) {
      return Optional.empty();
    }
    return Optional.ofNullable(switch (name) {
      case "sum" -> as(type, measure(MeasureFunction.SUM, arguments, distinct));
      case "min" -> measure(MeasureFunction.MIN, arguments, false);
      case "max" -> measure(MeasureFunction.MAX, arguments, false);
      case "count_if" -> measure(MeasureFunction.COUNT, List.of(counted(arguments.get(0))), false);
      case "bool_and", "every" -> measure(MeasureFunction.MIN, arguments, false);
      case "bool_or" -> measure(MeasureFunction.MAX, arguments, false);
      case "bitwise_and_agg" -> as(type, measure(MeasureFunction.BIT_AND, arguments, false));
      case "bitwise_or_agg" -> as(type, measure(MeasureFunction.BIT_OR, arguments, false));
      case "avg" -> average(arguments, type, distinct);
      case "stddev", "stddev_samp" -> spread(MeasureFunction.STDDEV, arguments, distinct);
      case "stddev_pop" -> spread(MeasureFunction.STDDEV_POP, arguments, distinct);
      case "variance", "var_samp" -> spread(MeasureFunction.VARIANCE, arguments, distinct);
      case "var_pop" -> spread(MeasureFunction.VARIANCE_POP, arguments, distinct);
      case "arbitrary", "any_value" -> measure(MeasureFunction.MIN, arguments, false);
      case "max_by" -> extreme(arguments, true, distinct);
      case "min_by" -> extreme(arguments, false, distinct);
      case "covar_pop" -> pairs(MeasureFunction.COVAR_POP, arguments, type, distinct);
      case "covar_samp" -> pairs(MeasureFunction.COVAR_SAMP, arguments, type, distinct);
      case "corr" -> finite(MeasureFunction.CORR, arguments, type, distinct);
      case "regr_slope" -> finite(MeasureFunction.REGR_SLOPE, arguments, type, distinct);
      case "regr_intercept" -> finite(MeasureFunction.REGR_INTERCEPT, arguments, type, distinct);
      default -> null;
    });
  }

  /** A value where the condition is true, else NULL. */
  private static Expression counted(Expression condition) {
    return Expression.caseWhen(
        List.of(condition, Expression.integer(1, DataType.INT64)), Expression.nullOf(DataType.INT64));
  }

  private Function<Operator, Expression> average(List<Expression> arguments, DataType type, boolean distinct) {
    if (!(type instanceof DataType.Decimal decimal)) {
      return as(type, measure(MeasureFunction.AVG, arguments, distinct));
    }
    Function<Operator, Expression> sum = measure(MeasureFunction.SUM, arguments, distinct);
    Function<Operator, Expression> count =
        as(DataType.decimal(19, 0), measure(MeasureFunction.COUNT, arguments, distinct));
    return grouped -> DecimalRules.quotient(sum.apply(grouped), count.apply(grouped), decimal);
  }

  private Function<Operator, Expression> spread(
      MeasureFunction function, List<Expression> arguments, boolean distinct) {
    return measure(function, List.of(arguments.get(0).as(DataType.FLOAT64)), distinct);
  }

  /** Null for what is not known. */
  private Function<Operator, Expression> pairs(
      MeasureFunction function, List<Expression> arguments, DataType type, boolean distinct) {
    return distinct || !type.same(DataType.FLOAT64) ? null : measure(function, arguments, false);
  }

  /** NULL in place of what is not finite. */
  private Function<Operator, Expression> finite(
      MeasureFunction function, List<Expression> arguments, DataType type, boolean distinct) {
    Function<Operator, Expression> value = pairs(function, arguments, type, distinct);
    return value == null ? null : value.andThen(SqlFunctions::finite);
  }

  /** The first argument in a row with the extreme of the second, any of them: here the least. */
  private Function<Operator, Expression> extreme(List<Expression> arguments, boolean greatest, boolean distinct) {
    if (distinct || arguments.size() != 2 || arguments.get(1).type().isFloat()) {
      return null;
    }
    Expression by = arguments.get(1);
    Expression value = arguments.get(0);
    Expression known =
        Expression.caseWhen(List.of(ScalarFunction.IS_NOT_NULL.of(by), value), Expression.nullOf(value.type()));
    return measure(MeasureFunction.FIRST_VALUE, List.of(known), false, List.of(new SortKey(by, greatest, false)));
  }

  private Function<Operator, Expression> measure(
      MeasureFunction function, List<Expression> arguments, boolean distinct) {
    return measure(function, arguments, distinct, List.of());
  }

  private Function<Operator, Expression> measure(
      MeasureFunction function, List<Expression> arguments, boolean distinct, List<SortKey> order) {
    int column = keys + measures.size();
    measures.add(new Measure(distinct ? function.distinct() : function, arguments, "m" + measures.size(), order));
    return grouped -> grouped.column(column);
  }

  private static Function<Operator, Expression> as(DataType type, Function<Operator, Expression> value) {
    return grouped -> value.apply(grouped).as(type);
  }
}
