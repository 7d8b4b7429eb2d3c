package io.jumpgate.settings;

import io.jumpgate.explain.Code;
import io.jumpgate.explain.Reason;
import java.util.Locale;

/** Operators that a session can leave with its engine, by a property each. */
public enum OperatorSwitch {
  FILTER("Filter", "filters"),
  PROJECT("Project", "computed columns"),
  AGGREGATION("Aggregate", "aggregations"),
  DISTINCT("Distinct", "SELECT DISTINCT"),
  LIMIT("Limit", "LIMIT"),
  TOP_N("TopN", "ORDER BY with LIMIT"),
  UNION("Union", "unions of tables of this catalog"),
  JOIN("Join", "joins of tables of this catalog"),
  SEMI_JOIN("SemiJoin", "IN with a query over this catalog"),
  UNNEST("Unnest", "UNNEST of an array or map");

  private final String operator;
  private final String what;

  OperatorSwitch(String operator, String what) {
    this.operator = operator;
    this.what = what;
  }

  /** The operator's name in EXPLAIN. */
  public String operator() {
    return operator;
  }

  /** The property's name; it is true unless a session says otherwise. */
  public String property() {
    return "offload_" + name().toLowerCase(Locale.ROOT);
  }

  public String description() {
    return "accelerators compute " + what;
  }

  /** Why the operator stays where the session says so. */
  public Reason left(String engine) {
    return new Reason(Code.DISABLED, "this session leaves it with " + engine, property());
  }
}
