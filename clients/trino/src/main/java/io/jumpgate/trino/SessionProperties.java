package io.jumpgate.trino;

import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.explain.Reason;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.session.PropertyMetadata;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a session can choose: {@code SET SESSION CATALOG.NAME = …}. */
public final class SessionProperties {
  /** Operators that have a property each, by Trino's names. */
  public enum Kind {
    FILTER("Filter", "Filters"),
    PROJECT("Project", "Computed columns"),
    AGGREGATION("Aggregate", "Aggregations and SELECT DISTINCT"),
    JOIN("Join", "Joins of tables of this catalog"),
    LIMIT("Limit", "LIMIT"),
    TOP_N("TopN", "ORDER BY with LIMIT");

    private final String operator;
    private final String description;

    Kind(String operator, String description) {
      this.operator = operator;
      this.description = description;
    }

    /** The operator's name in EXPLAIN. */
    public String operator() {
      return operator;
    }

    private String property() {
      return OFFLOAD + "_" + name().toLowerCase(Locale.ROOT);
    }

    /** Raises NotOffloaded where the session leaves it with Trino. */
    public void require(ConnectorSession session) {
      if (!session.getProperty(property(), Boolean.class)) {
        throw new NotOffloaded(new Reason(Code.DISABLED, "this session leaves it with Trino", property()));
      }
    }
  }

  private static final String OFFLOAD = "offload";
  private static final String STRICT = "strict";

  private SessionProperties() {}

  static List<PropertyMetadata<?>> all() {
    List<PropertyMetadata<?>> all = new ArrayList<>();
    all.add(PropertyMetadata.booleanProperty(
        OFFLOAD, "Compute on accelerators what they can compute; without, they scan", true, false));
    all.add(PropertyMetadata.booleanProperty(
        STRICT, "Refuse a query of which an operator that the planner shows stays with Trino", false, false));
    for (Kind kind : Kind.values()) {
      String description = kind.description + ": computed on accelerators";
      all.add(PropertyMetadata.booleanProperty(kind.property(), description, true, false));
    }
    return all;
  }

  public static boolean offload(ConnectorSession session) {
    return session.getProperty(OFFLOAD, Boolean.class);
  }

  public static boolean strict(ConnectorSession session) {
    return session.getProperty(STRICT, Boolean.class);
  }
}
