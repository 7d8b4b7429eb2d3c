package io.jumpgate.dataflow;

import java.time.DayOfWeek;
import java.time.Month;
import java.time.format.TextStyle;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntFunction;

/** What a clock shows, as text by MySQL's patterns: {@code %Y-%m-%d %H:%i}. Words are English. */
public final class ClockText {
  private static final Expression ZEROS = Expression.string("000");

  /** Of parts in words. */
  private static final String WORDS = "aWbMpr";

  private ClockText() {}

  /**
   * The text of a timestamp; empty: the pattern has a part that engines do not have, or nothing at all. {@code words}:
   * whether it may have parts in words.
   */
  public static Optional<Expression> of(String pattern, Expression at, boolean words) {
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < pattern.length(); i++) {
      boolean named = pattern.charAt(i) == '%' && i + 1 < pattern.length();
      Optional<Expression> part =
          named ? part(pattern.charAt(++i), at, words) : Optional.of(Expression.string(pattern.substring(i, i + 1)));
      if (part.isEmpty() || Character.isSurrogate(pattern.charAt(i))) {
        return Optional.empty();
      }
      parts.add(part.get());
    }
    if (parts.isEmpty()) {
      return Optional.empty();
    }
    Expression text = ScalarFunction.CONCAT.of(parts.toArray(Expression[] ::new));
    return Optional.of(
        Expression.caseWhen(List.of(ScalarFunction.IS_NULL.of(at), Expression.nullOf(DataType.STRING)), text));
  }

  private static Optional<Expression> part(char letter, Expression at, boolean words) {
    if (WORDS.indexOf(letter) >= 0 && !words) {
      return Optional.empty();
    }
    return Optional.ofNullable(switch (letter) {
      case 'Y' -> digits(ScalarFunction.YEAR.of(at), 4);
      case 'y' -> digits(rest(ScalarFunction.YEAR.of(at), 100), 2);
      case 'm' -> digits(ScalarFunction.MONTH.of(at), 2);
      case 'c' -> digits(ScalarFunction.MONTH.of(at), 1);
      case 'd' -> digits(ScalarFunction.DAY.of(at), 2);
      case 'e' -> digits(ScalarFunction.DAY.of(at), 1);
      case 'j' -> digits(ScalarFunction.DAY_OF_YEAR.of(at), 3);
      case 'v' -> digits(ScalarFunction.WEEK.of(at), 2);
      case 'x' -> digits(ScalarFunction.ISO_YEAR.of(at), 4);
      case 'H' -> digits(ScalarFunction.HOUR.of(at), 2);
      case 'k' -> digits(ScalarFunction.HOUR.of(at), 1);
      case 'h', 'I' -> digits(half(at), 2);
      case 'l' -> digits(half(at), 1);
      case 'i' -> digits(ScalarFunction.MINUTE.of(at), 2);
      case 's', 'S' -> digits(ScalarFunction.SECOND.of(at), 2);
      case 'f' -> ScalarFunction.CONCAT.of(digits(rest(ScalarFunction.MILLISECOND.of(at), 1000), 3), ZEROS);
      case 'p' ->
        Expression.caseWhen(
            List.of(ScalarFunction.LT.of(ScalarFunction.HOUR.of(at), whole(12)), text("AM")), text("PM"));
      case 'T' -> of("%H:%i:%s", at, words).orElseThrow();
      case 'r' -> of("%h:%i:%s %p", at, words).orElseThrow();
      case 'a' ->
        named(
            ScalarFunction.ISO_DAY_OF_WEEK.of(at), 7, n -> DayOfWeek.of(n).getDisplayName(TextStyle.SHORT, Locale.US));
      case 'W' ->
        named(ScalarFunction.ISO_DAY_OF_WEEK.of(at), 7, n -> DayOfWeek.of(n).getDisplayName(TextStyle.FULL, Locale.US));
      case 'b' -> named(ScalarFunction.MONTH.of(at), 12, n -> Month.of(n).getDisplayName(TextStyle.SHORT, Locale.US));
      case 'M' -> named(ScalarFunction.MONTH.of(at), 12, n -> Month.of(n).getDisplayName(TextStyle.FULL, Locale.US));
      case '%' -> text("%");
      default -> null;
    });
  }

  private static Expression named(Expression number, int count, IntFunction<String> name) {
    List<Expression> branches = new ArrayList<>();
    for (int n = 1; n < count; n++) {
      branches.add(ScalarFunction.EQ.of(number, whole(n)));
      branches.add(text(name.apply(n)));
    }
    return Expression.caseWhen(branches, text(name.apply(count)));
  }

  /** Of 12 hours. */
  private static Expression half(Expression at) {
    Expression before = rest(ScalarFunction.ADD.of(ScalarFunction.HOUR.of(at), whole(11)), 12);
    return ScalarFunction.ADD.of(before, whole(1));
  }

  private static Expression rest(Expression value, long n) {
    return ScalarFunction.MODULO.of(value, whole(n));
  }

  /** A number in so many digits at least, of which it has no more unless that is 1. */
  private static Expression digits(Expression value, long least) {
    Expression text = Expression.cast(value, DataType.STRING);
    return least == 1 ? text : ScalarFunction.LPAD.of(text, whole(least), text("0"));
  }

  private static Expression whole(long n) {
    return Expression.integer(n, DataType.INT64);
  }

  private static Expression text(String text) {
    return Expression.string(text);
  }
}
