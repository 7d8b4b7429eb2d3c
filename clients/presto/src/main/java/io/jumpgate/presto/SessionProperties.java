package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.session.PropertyMetadata;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/** What a session can choose: {@code SET SESSION CATALOG.NAME = …}. {@code disabled}: what stays with Presto. */
public record SessionProperties(boolean offload, boolean strict, Set<Kind> disabled) {
  /** Operators that have a property each. */
  public enum Kind {
    FILTER("Filters"),
    PROJECT("Computed columns"),
    AGGREGATION("Aggregations"),
    DISTINCT("SELECT DISTINCT"),
    LIMIT("LIMIT"),
    TOP_N("ORDER BY with LIMIT"),
    UNION("Unions of tables of this catalog"),
    JOIN("Joins of tables of this catalog"),
    SEMI_JOIN("IN with a query over this catalog");

    private final String description;

    Kind(String description) {
      this.description = description;
    }

    /** The property's name. */
    public String property() {
      return OFFLOAD + "_" + name().toLowerCase(Locale.ROOT);
    }
  }

  private static final String OFFLOAD = "offload";
  private static final String STRICT = "strict";

  static List<PropertyMetadata<?>> all() {
    PropertyMetadata<Boolean> offload = PropertyMetadata.booleanProperty(
        OFFLOAD, "Compute on accelerators what they can compute; without, they scan", true, false);
    PropertyMetadata<Boolean> strict = PropertyMetadata.booleanProperty(
        STRICT, "Refuse a query of which an operator that the planner shows stays with Presto", false, false);
    Stream<PropertyMetadata<?>> kinds = Stream.of(Kind.values())
                                            .map(kind
                                                -> PropertyMetadata.booleanProperty(kind.property(),
                                                    kind.description + ": computed on accelerators", true, false));
    return Stream.concat(Stream.of(offload, strict), kinds).toList();
  }

  public static SessionProperties of(ConnectorSession session) {
    Set<Kind> disabled = EnumSet.noneOf(Kind.class);
    for (Kind kind : Kind.values()) {
      if (!session.getProperty(kind.property(), Boolean.class)) {
        disabled.add(kind);
      }
    }
    return new SessionProperties(
        session.getProperty(OFFLOAD, Boolean.class), session.getProperty(STRICT, Boolean.class), Set.copyOf(disabled));
  }
}
