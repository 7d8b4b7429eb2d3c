package io.jumpgate.dataflow;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Aggregate functions of docs/functions.md, their types, and those of their partial states. Made from the Python
 * declarations: {@code ./dev golden --update-golden}.
 */
public enum MeasureFunction {
  SUM("sum", TypeRule.SUMMED, TypeRule.SUMMED),
  SUM_DISTINCT("sum_distinct", TypeRule.SUMMED),
  COUNT("count", TypeRule.COUNT, TypeRule.COUNT),
  COUNT_DISTINCT("count_distinct", TypeRule.COUNT),
  APPROX_DISTINCT("approx_distinct", TypeRule.COUNT),
  COUNT_STAR("count_star", TypeRule.COUNT, TypeRule.COUNT),
  MIN("min", TypeRule.NULLABLE_FIRST, TypeRule.NULLABLE_FIRST),
  MAX("max", TypeRule.NULLABLE_FIRST, TypeRule.NULLABLE_FIRST),
  AVG("avg", TypeRule.always(DataType.FLOAT64), TypeRule.SUMMED, TypeRule.COUNT),
  AVG_DISTINCT("avg_distinct", TypeRule.always(DataType.FLOAT64)),
  BIT_AND("bit_and", TypeRule.NULLABLE_FIRST, TypeRule.NULLABLE_FIRST),
  BIT_OR("bit_or", TypeRule.NULLABLE_FIRST, TypeRule.NULLABLE_FIRST),
  BIT_XOR("bit_xor", TypeRule.NULLABLE_FIRST, TypeRule.NULLABLE_FIRST),
  STDDEV("stddev", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER),
  STDDEV_DISTINCT("stddev_distinct", TypeRule.always(DataType.FLOAT64)),
  STDDEV_POP("stddev_pop", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER),
  STDDEV_POP_DISTINCT("stddev_pop_distinct", TypeRule.always(DataType.FLOAT64)),
  VARIANCE("variance", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER),
  VARIANCE_DISTINCT("variance_distinct", TypeRule.always(DataType.FLOAT64)),
  VARIANCE_POP("variance_pop", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER),
  VARIANCE_POP_DISTINCT("variance_pop_distinct", TypeRule.always(DataType.FLOAT64)),
  COVAR_POP("covar_pop", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  COVAR_SAMP("covar_samp", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  CORR("corr", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_SLOPE("regr_slope", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_INTERCEPT("regr_intercept", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_R2("regr_r2", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_AVGX("regr_avgx", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_AVGY("regr_avgy", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_SXX("regr_sxx", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_SYY("regr_syy", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_SXY("regr_sxy", TypeRule.always(DataType.FLOAT64), TypeRule.COUNT, TypeRule.NUMBER, TypeRule.NUMBER,
      TypeRule.NUMBER, TypeRule.NUMBER, TypeRule.NUMBER),
  REGR_COUNT("regr_count", TypeRule.COUNT, TypeRule.COUNT),
  MEDIAN("median", TypeRule.MIDDLE),
  MEDIAN_DISTINCT("median_distinct", TypeRule.MIDDLE),
  QUANTILE_CONT("quantile_cont", TypeRule.always(DataType.FLOAT64)),
  QUANTILE_CONT_DISTINCT("quantile_cont_distinct", TypeRule.always(DataType.FLOAT64)),
  PERCENTILE("percentile", TypeRule.always(DataType.FLOAT64)),
  PERCENTILE_DISTINCT("percentile_distinct", TypeRule.always(DataType.FLOAT64)),
  QUANTILE_DISC("quantile_disc", TypeRule.NULLABLE_FIRST),
  QUANTILE_DISC_DISTINCT("quantile_disc_distinct", TypeRule.NULLABLE_FIRST),
  MODE("mode", TypeRule.NULLABLE_FIRST),
  STRING_AGG("string_agg", TypeRule.always(DataType.STRING)),
  STRING_AGG_DISTINCT("string_agg_distinct", TypeRule.always(DataType.STRING)),
  ARRAY_AGG("array_agg", TypeRule.LISTED),
  ARRAY_AGG_DISTINCT("array_agg_distinct", TypeRule.LISTED),
  COLLECT_LIST("collect_list", TypeRule.COLLECTED),
  COLLECT_LIST_DISTINCT("collect_list_distinct", TypeRule.COLLECTED),
  FIRST_VALUE("first_value", TypeRule.NULLABLE_FIRST);

  private final String text;
  private final TypeRule rule;
  private final List<TypeRule> states;

  MeasureFunction(String text, TypeRule rule, TypeRule... states) {
    this.text = text;
    this.rule = rule;
    this.states = List.of(states);
  }

  /** The name in requests. */
  public String text() {
    return text;
  }

  /** The form over distinct values. Raises IllegalArgumentException where there is none. */
  public MeasureFunction distinct() {
    return valueOf(name() + "_DISTINCT");
  }

  /** The function of that name; empty: there is none. */
  public static Optional<MeasureFunction> named(String text) {
    return Arrays.stream(values()).filter(f -> f.text.equals(text)).findFirst();
  }

  /** The type of its result. */
  public DataType type(List<Expression> arguments) {
    return rule.of(arguments);
  }

  /** Types of the columns of a partial aggregate; empty: it is not computed in parts. */
  List<DataType> states(List<Expression> arguments) {
    return states.stream().map(state -> state.of(arguments)).toList();
  }
}
