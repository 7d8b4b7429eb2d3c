package io.jumpgate.dataflow;

import java.util.Map;
import java.util.Optional;

/** Functions of a date's parts, by the names that SQL has for them. */
public final class DateParts {
  private static final Map<String, String> FUNCTIONS = Map.ofEntries(Map.entry("year", "year"),
      Map.entry("quarter", "quarter"), Map.entry("month", "month"), Map.entry("day", "day"),
      Map.entry("day_of_month", "day"), Map.entry("day_of_year", "day_of_year"), Map.entry("doy", "day_of_year"),
      Map.entry("week", "week"), Map.entry("week_of_year", "week"), Map.entry("day_of_week", "iso_day_of_week"),
      Map.entry("dow", "iso_day_of_week"), Map.entry("year_of_week", "iso_year"), Map.entry("yow", "iso_year"));

  private DateParts() {}

  /**
   * The function of dataflows that SQL's is; empty: it is none of a date's part. Weeks and their days are ISO 8601's.
   */
  public static Optional<String> function(String name) {
    return Optional.ofNullable(FUNCTIONS.get(name));
  }
}
