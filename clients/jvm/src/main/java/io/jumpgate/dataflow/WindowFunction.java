package io.jumpgate.dataflow;

import java.util.List;

/**
 * Window functions, and the types of their results. Made from the Python declarations: {@code ./dev golden
 * --update-golden}.
 */
public enum WindowFunction {
  ROW_NUMBER("row_number", TypeRule.COUNT),
  RANK("rank", TypeRule.COUNT),
  DENSE_RANK("dense_rank", TypeRule.COUNT),
  PERCENT_RANK("percent_rank", TypeRule.NUMBER),
  CUME_DIST("cume_dist", TypeRule.NUMBER),
  NTILE("ntile", TypeRule.COUNT),
  LAG("lag", TypeRule.NULLABLE_FIRST),
  LEAD("lead", TypeRule.NULLABLE_FIRST),
  FIRST_VALUE("first_value", TypeRule.NULLABLE_FIRST),
  LAST_VALUE("last_value", TypeRule.NULLABLE_FIRST),
  NTH_VALUE("nth_value", TypeRule.NULLABLE_FIRST),
  SUM("sum", TypeRule.SUMMED),
  COUNT("count", TypeRule.COUNT),
  COUNT_STAR("count_star", TypeRule.COUNT),
  MIN("min", TypeRule.NULLABLE_FIRST),
  MAX("max", TypeRule.NULLABLE_FIRST),
  AVG("avg", TypeRule.always(DataType.FLOAT64)),
  STDDEV("stddev", TypeRule.always(DataType.FLOAT64));

  private final String text;
  private final TypeRule rule;

  WindowFunction(String text, TypeRule rule) {
    this.text = text;
    this.rule = rule;
  }

  /** The name in requests. */
  public String text() {
    return text;
  }

  /** The type of its result. */
  public DataType type(List<Expression> arguments) {
    return rule.of(arguments);
  }
}
