package io.jumpgate.dataflow;

import java.util.Map;
import java.util.Optional;

/** Functions of a date's parts, by the names that SQL has for them. */
public final class DateParts {
  private static final Map<String, ScalarFunction> FUNCTIONS = Map.ofEntries(Map.entry("year", ScalarFunction.YEAR),
      Map.entry("quarter", ScalarFunction.QUARTER), Map.entry("month", ScalarFunction.MONTH),
      Map.entry("day", ScalarFunction.DAY), Map.entry("day_of_month", ScalarFunction.DAY),
      Map.entry("day_of_year", ScalarFunction.DAY_OF_YEAR), Map.entry("doy", ScalarFunction.DAY_OF_YEAR),
      Map.entry("week", ScalarFunction.WEEK), Map.entry("week_of_year", ScalarFunction.WEEK),
      Map.entry("day_of_week", ScalarFunction.ISO_DAY_OF_WEEK), Map.entry("dow", ScalarFunction.ISO_DAY_OF_WEEK),
      Map.entry("year_of_week", ScalarFunction.ISO_YEAR), Map.entry("yow", ScalarFunction.ISO_YEAR));

  private DateParts() {}

  /**
   * The function of dataflows that SQL's is; empty: it is none of a date's part. Weeks and their days are ISO 8601's.
   */
  public static Optional<ScalarFunction> function(String name) {
    return Optional.ofNullable(FUNCTIONS.get(name));
  }
}
