package io.jumpgate.dataflow;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Functions of SQL as Presto and Trino define them, made of those that dataflows have. */
public final class SqlFunctions {
  private static final List<String> DATE_UNITS = List.of("day", "week", "month", "quarter", "year");
  private static final List<String> CLOCK_UNITS = List.of("hour", "minute", "second", "millisecond");
  /** Of parts that {@link #splitPart} counts, and of units by which dates move. */
  private static final long NUMBER_MAX = 1_000_000;

  private static final long MILLI_MICROS = 1000;
  /** In a unit of which all are as long. */
  private static final Map<String, Long> MILLIS = Map.of("millisecond", 1L, "second", 1000L, "minute", 60_000L, "hour",
      3_600_000L, "day", 86_400_000L, "week", 604_800_000L);

  private SqlFunctions() {}

  /** {@code greatest} or {@code least} of values of one type: NULL if any of them is. */
  public static Expression extreme(ScalarFunction function, Expression... values) {
    Expression[] nulls = Arrays.stream(values)
                             .filter(v -> v.type().nullable())
                             .map(ScalarFunction.IS_NULL::of)
                             .toArray(Expression[] ::new);
    Expression extreme = function.of(values);
    if (nulls.length == 0) {
      return extreme;
    }
    return Expression.caseWhen(
        List.of(nulls.length == 1 ? nulls[0] : ScalarFunction.OR.of(nulls), Expression.nullOf(extreme.type())),
        extreme);
  }

  /** A float64, or NULL in place of NaN and the infinities. */
  public static Expression finite(Expression value) {
    Expression absolute = ScalarFunction.ABS.of(value);
    Expression infinity = Expression.floating(Double.POSITIVE_INFINITY, DataType.FLOAT64);
    return Expression.caseWhen(
        List.of(ScalarFunction.LT.of(absolute, infinity), value), Expression.nullOf(DataType.FLOAT64));
  }

  /** NaN of a negative number. */
  public static Expression squareRoot(Expression value) {
    Expression isReal = ScalarFunction.GE.of(value, Expression.floating(0, DataType.FLOAT64));
    Expression otherwise = Expression.caseWhen(
        List.of(ScalarFunction.IS_NOT_NULL.of(value), Expression.floating(Double.NaN, DataType.FLOAT64)),
        Expression.nullOf(DataType.FLOAT64));
    return Expression.caseWhen(List.of(isReal, ScalarFunction.SQRT.of(value)), otherwise);
  }

  /** Whether {@link #splitPart} is defined: parts are counted from 1, and a separator is some text. */
  public static boolean isPart(String separator, long n) {
    return !separator.isEmpty() && n >= 1 && n <= NUMBER_MAX;
  }

  /** The n-th part between separators; NULL if there are fewer. */
  public static Expression splitPart(Expression text, String separator, long n) {
    Expression part =
        ScalarFunction.SPLIT_PART.of(text, Expression.string(separator), Expression.integer(n, DataType.INT64));
    if (n == 1) {
      return part;
    }
    Expression without = ScalarFunction.REPLACE.of(text, Expression.string(separator), Expression.string(""));
    Expression separators = ScalarFunction.SUBTRACT.of(bytes(text), bytes(without));
    long length = separator.getBytes(StandardCharsets.UTF_8).length;
    Expression enough = ScalarFunction.GE.of(separators, Expression.integer((n - 1) * length, DataType.INT64));
    return Expression.caseWhen(List.of(enough, part), Expression.nullOf(DataType.STRING));
  }

  private static Expression bytes(Expression text) {
    return ScalarFunction.OCTET_LENGTH.of(text);
  }

  /** The start of the unit in which a date or a timestamp is; none of a unit that it does not have. */
  public static Optional<Expression> dateTrunc(String unit, Expression date) {
    if (date.type().same(DataType.TIMESTAMP)) {
      boolean known = DATE_UNITS.contains(unit) || CLOCK_UNITS.contains(unit);
      return known ? Optional.of(ScalarFunction.DATE_TRUNC.of(Expression.string(unit), date)) : Optional.empty();
    }
    if (!DATE_UNITS.contains(unit)) {
      return Optional.empty();
    }
    Expression start = ScalarFunction.DATE_TRUNC.of(Expression.string(unit), Expression.cast(date, DataType.TIMESTAMP));
    return Optional.of(Expression.cast(start, DataType.DATE));
  }

  /** A date so many months, then days later; a month's last day where it has no such day. */
  public static Expression later(Expression date, long months, long days) {
    return ScalarFunction.ADD_INTERVAL.of(date, Expression.integer(months, DataType.INT64),
        Expression.integer(days, DataType.INT64), Expression.integer(0, DataType.INT64));
  }

  /** A timestamp so many milliseconds later. */
  public static Expression later(Expression timestamp, Expression millis) {
    Expression none = Expression.integer(0, DataType.INT64);
    Expression micros = ScalarFunction.MULTIPLY.of(millis, Expression.integer(MILLI_MICROS, DataType.INT64));
    return ScalarFunction.ADD_INTERVAL.of(timestamp, none, none, micros);
  }

  /** The same by a number of units; none of a unit that dates do not have. */
  public static Optional<Expression> later(Expression date, String unit, long number) {
    boolean clock = date.type().same(DataType.TIMESTAMP) && CLOCK_UNITS.contains(unit);
    if (!clock && !DATE_UNITS.contains(unit) || Math.abs(number) > NUMBER_MAX) {
      return Optional.empty();
    }
    if (clock) {
      return Optional.of(later(date, Expression.integer(number * MILLIS.get(unit), DataType.INT64)));
    }
    return Optional.of(switch (unit) {
      case "day" -> later(date, 0, number);
      case "week" -> later(date, 0, 7 * number);
      case "month" -> later(date, number, 0);
      case "quarter" -> later(date, 3 * number, 0);
      default -> later(date, 12 * number, 0);
    });
  }

  /** Milliseconds from 1970 to a timestamp, without what is below them. */
  public static Expression millis(Expression timestamp) {
    Expression days = ScalarFunction.DAYS_BETWEEN.of(Expression.cast(timestamp, DataType.DATE), Expression.date(0));
    return Stream
        .of(times(days, MILLIS.get("day")), times(ScalarFunction.HOUR.of(timestamp), MILLIS.get("hour")),
            times(ScalarFunction.MINUTE.of(timestamp), MILLIS.get("minute")), ScalarFunction.MILLISECOND.of(timestamp))
        .reduce(ScalarFunction.ADD::of)
        .orElseThrow();
  }

  private static Expression times(Expression value, long n) {
    return ScalarFunction.MULTIPLY.of(value, Expression.integer(n, DataType.INT64));
  }

  /** Whole units from one timestamp to another, or days or weeks from one date to another; none of another unit. */
  public static Optional<Expression> dateDiff(String unit, Expression from, Expression to) {
    if (from.type().same(DataType.TIMESTAMP)) {
      Expression passed = ScalarFunction.SUBTRACT.of(millis(to), millis(from));
      return Optional.ofNullable(MILLIS.get(unit))
          .map(n -> ScalarFunction.INT_DIVIDE.of(passed, Expression.integer(n, DataType.INT64)));
    }
    Expression days = ScalarFunction.DAYS_BETWEEN.of(to, from);
    return switch (unit) {
      case "day" -> Optional.of(days);
      case "week" -> Optional.of(ScalarFunction.INT_DIVIDE.of(days, Expression.integer(7, DataType.INT64)));
      default -> Optional.empty();
    };
  }
}
