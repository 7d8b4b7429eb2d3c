package io.jumpgate.dataflow;

import java.util.List;

/**
 * Functions of docs/functions.md, and the types of their calls. Made from the Python declarations: {@code ./dev golden
 * --update-golden}.
 */
public enum ScalarFunction {
  EQ("eq", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  NE("ne", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  LT("lt", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  LE("le", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  GT("gt", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  GE("ge", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  IS_DISTINCT("is_distinct", Nulls.BY_RULE, TypeRule.CERTAIN),
  IS_NOT_DISTINCT("is_not_distinct", Nulls.BY_RULE, TypeRule.CERTAIN),
  IS_NULL("is_null", Nulls.BY_RULE, TypeRule.CERTAIN),
  IS_NOT_NULL("is_not_null", Nulls.BY_RULE, TypeRule.CERTAIN),
  AND("and", Nulls.BY_RULE, TypeRule.THREE_VALUED),
  OR("or", Nulls.BY_RULE, TypeRule.THREE_VALUED),
  NOT("not", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  ADD("add", Nulls.ALWAYS, TypeRule.SUM),
  SUBTRACT("subtract", Nulls.ALWAYS, TypeRule.SUM),
  MULTIPLY("multiply", Nulls.ALWAYS, TypeRule.PRODUCT),
  DIVIDE("divide", Nulls.ALWAYS, TypeRule.FIRST),
  INT_DIVIDE("int_divide", Nulls.ALWAYS, TypeRule.FIRST),
  MODULO("modulo", Nulls.ALWAYS, TypeRule.FIRST),
  NEGATE("negate", Nulls.ALWAYS, TypeRule.FIRST),
  ABS("abs", Nulls.ALWAYS, TypeRule.FIRST),
  ROUND("round", Nulls.ALWAYS, TypeRule.ROUND),
  FLOOR("floor", Nulls.OF_ARGUMENTS, TypeRule.WHOLE),
  CEIL("ceil", Nulls.OF_ARGUMENTS, TypeRule.WHOLE),
  SQRT("sqrt", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  LIKE("like", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  SUBSTRING("substring", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  CONCAT("concat", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  UPPER("upper", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  LOWER("lower", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  TRIM("trim", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  LTRIM("ltrim", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  RTRIM("rtrim", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  CHAR_LENGTH("char_length", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  STARTS_WITH("starts_with", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  ENDS_WITH("ends_with", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  CONTAINS("contains", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  COALESCE("coalesce", Nulls.BY_RULE, TypeRule.COALESCED),
  NULL_IF("null_if", Nulls.BY_RULE, TypeRule.NULLABLE_FIRST),
  YEAR("year", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  QUARTER("quarter", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MONTH("month", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  DAY("day", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  DAY_OF_WEEK("day_of_week", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  HOUR("hour", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MINUTE("minute", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  SECOND("second", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  DATE_ADD_DAYS("date_add_days", Nulls.ALWAYS, TypeRule.always(DataType.DATE)),
  EXP("exp", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  LN("ln", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  LOG2("log2", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  LOG10("log10", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  LOG("log", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  POWER("power", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  SIN("sin", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  COS("cos", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  TAN("tan", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  ASIN("asin", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  ACOS("acos", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  ATAN("atan", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  ATAN2("atan2", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  SINH("sinh", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  COSH("cosh", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  TANH("tanh", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  DEGREES("degrees", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  RADIANS("radians", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  SIGN("sign", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  TRUNCATE("truncate", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  DIVIDE_DECIMAL("divide_decimal", Nulls.ALWAYS, TypeRule.DECLARED),
  MEAN("mean", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  FLOAT_TO_DECIMAL("float_to_decimal", Nulls.ALWAYS, TypeRule.DECLARED),
  IS_NAN("is_nan", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  BIT_AND("bit_and", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  BIT_OR("bit_or", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  BIT_XOR("bit_xor", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  SHIFT_LEFT("shift_left", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  SHIFT_RIGHT("shift_right", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LEAST("least", Nulls.BY_RULE, TypeRule.COALESCED),
  GREATEST("greatest", Nulls.BY_RULE, TypeRule.COALESCED),
  ILIKE("ilike", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  LEFT("left", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  RIGHT("right", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  LPAD("lpad", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  RPAD("rpad", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  REPEAT("repeat", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  REPLACE("replace", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  REVERSE("reverse", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  POSITION("position", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  SPLIT_PART("split_part", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  INITCAP("initcap", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  CHR("chr", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  ASCII("ascii", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  CONCAT_WS("concat_ws", Nulls.BY_RULE, TypeRule.AS_SEPARATOR),
  OCTET_LENGTH("octet_length", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MD5("md5", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  SHA1("sha1", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  SHA256("sha256", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  TRANSLATE("translate", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  XXHASH64("xxhash64", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MURMUR3("murmur3", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT32)),
  REGEXP_LIKE("regexp_like", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.BOOL)),
  REGEXP_COUNT("regexp_count", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  REGEXP_POSITION("regexp_position", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  REGEXP_EXTRACT("regexp_extract", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  REGEXP_REPLACE("regexp_replace", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  REGEXP_REPLACE_ALL("regexp_replace_all", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  SPLIT("split", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.list(DataType.STRING))),
  CARDINALITY("cardinality", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  ELEMENT_AT("element_at", Nulls.BY_RULE, TypeRule.ELEMENT),
  LIST_CONTAINS("list_contains", Nulls.BY_RULE, TypeRule.always(DataType.BOOL)),
  LIST_POSITION("list_position", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  LIST_MIN("list_min", Nulls.BY_RULE, TypeRule.ELEMENT),
  LIST_MAX("list_max", Nulls.BY_RULE, TypeRule.ELEMENT),
  MAP_VALUE("map_value", Nulls.BY_RULE, TypeRule.VALUE),
  LIST_SUBSCRIPT("list_subscript", Nulls.BY_RULE, TypeRule.ELEMENT),
  MAP_SUBSCRIPT("map_subscript", Nulls.BY_RULE, TypeRule.VALUE),
  LIST_COUNT("list_count", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  LIST_DISTINCT("list_distinct", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_SORT("list_sort", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_SLICE("list_slice", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_CONCAT("list_concat", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_INTERSECT("list_intersect", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_EXCEPT("list_except", Nulls.OF_ARGUMENTS, TypeRule.FIRST),
  LIST_JOIN("list_join", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.STRING)),
  FLATTEN("flatten", Nulls.OF_ARGUMENTS, TypeRule.ELEMENT),
  MAP_KEYS("map_keys", Nulls.OF_ARGUMENTS, TypeRule.KEYS),
  MAP_VALUES("map_values", Nulls.OF_ARGUMENTS, TypeRule.VALUES),
  MAP_OF("map_of", Nulls.OF_ARGUMENTS, TypeRule.MAP),
  LIST_OF("list_of", Nulls.BY_RULE, TypeRule.COLLECTED),
  STRUCT_OF("struct_of", Nulls.BY_RULE, TypeRule.STRUCT),
  LIST_ZIP("list_zip", Nulls.OF_ARGUMENTS, TypeRule.ZIP),
  ISO_YEAR("iso_year", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  WEEK("week", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  ISO_DAY_OF_WEEK("iso_day_of_week", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  DAY_OF_YEAR("day_of_year", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MILLISECOND("millisecond", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  MICROSECOND("microsecond", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64)),
  EPOCH("epoch", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.FLOAT64)),
  DATE_TRUNC("date_trunc", Nulls.OF_ARGUMENTS, TypeRule.SECOND),
  ADD_INTERVAL("add_interval", Nulls.ALWAYS, TypeRule.FIRST),
  ADD_OFFSET("add_offset", Nulls.ALWAYS, TypeRule.always(DataType.TIMESTAMP)),
  DAYS_BETWEEN("days_between", Nulls.OF_ARGUMENTS, TypeRule.always(DataType.INT64));

  private enum Nulls { OF_ARGUMENTS, ALWAYS, BY_RULE }

  private final String text;
  private final Nulls nulls;
  private final TypeRule rule;

  ScalarFunction(String text, Nulls nulls, TypeRule rule) {
    this.text = text;
    this.nulls = nulls;
    this.rule = rule;
  }

  /** The name in requests. */
  public String text() {
    return text;
  }

  /** Calls it; the arguments have the types that it takes. */
  public Expression of(Expression... arguments) {
    List<Expression> all = List.of(arguments);
    DataType type = rule.of(all);
    return Expression.call(text, switch (nulls) {
      case OF_ARGUMENTS -> type.withNullable(all.stream().anyMatch(a -> a.type().nullable()));
      case ALWAYS -> type.withNullable(true);
      case BY_RULE -> type;
    }, all);
  }
}
