package io.jumpgate.sql;

import io.jumpgate.dataflow.ClockText;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DateParts;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Patterns;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Calls that have one meaning in Presto and Trino, as expressions of a request. {@code E} is an expression of the
 * engine's. Every method raises NotOffloaded for what it does not translate.
 */
public abstract class SqlTranslator<E> {
  /** Of text that is padded. */
  private static final long LENGTH_MAX = 10_000;

  private final String engine;

  protected SqlTranslator(String engine) {
    this.engine = engine;
  }

  /** The expression in a request. */
  public abstract Expression translate(E e);

  /** A value that is handed on as it is, of any type. */
  protected abstract Expression passed(E e);

  /** A value that is an error for some arguments. */
  protected abstract Expression failing(E call, Expression value);

  /** Whether the session's names of months and days are those of English. */
  protected abstract boolean isEnglish();

  /** The arguments of a call. */
  protected abstract List<E> arguments(E call);

  /** The value of a literal that is an integer. */
  protected abstract OptionalLong number(E e);

  /** The value of a literal that is a text. */
  protected abstract Optional<String> words(E e);

  /** The expression for people. */
  protected abstract String text(E e);

  // ---- arguments

  protected final E of(E call, int argument) {
    return arguments(call).get(argument);
  }

  protected final Expression argument(E call, int argument) {
    return translate(of(call, argument));
  }

  protected final Expression[] all(List<? extends E> of) {
    return of.stream().map(this::translate).toArray(Expression[] ::new);
  }

  protected final Expression[] all(E call) {
    return all(arguments(call));
  }

  /** An argument of exactly that type. */
  protected final Expression argument(E call, int argument, DataType type) {
    Expression value = argument(call, argument);
    return value.type().same(type) ? value : refuse(call);
  }

  /** All arguments, which are texts. */
  protected final Expression[] texts(E call) {
    Expression[] values = all(call);
    return Stream.of(values).allMatch(v -> v.type().same(DataType.STRING)) ? values : refuse(call);
  }

  protected final long whole(E call, int argument) {
    return number(of(call, argument)).orElseThrow(() -> unknown(call));
  }

  protected final String literal(E call, int argument) {
    return words(of(call, argument)).orElseThrow(() -> unknown(call));
  }

  // ---- functions

  /** A call by its name in SQL; empty: the engines differ, or do not have it. */
  protected final Optional<Expression> shared(String name, E e) {
    Optional<ScalarFunction> part = DateParts.function(name);
    if (part.isPresent()) {
      return part.map(function -> function.of(moment(e, 0)));
    }
    return Optional.ofNullable(switch (name) {
      case "length" -> ScalarFunction.CHAR_LENGTH.of(argument(e, 0, DataType.STRING));
      case "concat" -> ScalarFunction.CONCAT.of(texts(e));
      case "starts_with" -> ScalarFunction.STARTS_WITH.of(texts(e));
      case "substr", "substring" -> substring(e);
      case "greatest" -> extreme(ScalarFunction.GREATEST, e);
      case "least" -> extreme(ScalarFunction.LEAST, e);
      case "split_part" -> part(e);
      case "reverse" -> ScalarFunction.REVERSE.of(argument(e, 0, DataType.STRING));
      case "strpos" -> position(e);
      case "lpad" -> padded(ScalarFunction.LPAD, e);
      case "rpad" -> padded(ScalarFunction.RPAD, e);
      case "ends_with" -> ScalarFunction.ENDS_WITH.of(texts(e));
      case "concat_ws" -> joined(e);
      case "translate" -> translated(e);
      case "to_hex" -> digest(e);
      case "lower" -> hexDigits(e);
      case "sqrt" -> SqlFunctions.squareRoot(argument(e, 0, DataType.FLOAT64));
      case "bitwise_not" ->
        ScalarFunction.BIT_XOR.of(argument(e, 0, DataType.INT64), Expression.integer(-1, DataType.INT64));
      case "bitwise_and" -> ScalarFunction.BIT_AND.of(words64(e));
      case "bitwise_or" -> ScalarFunction.BIT_OR.of(words64(e));
      case "bitwise_xor" -> ScalarFunction.BIT_XOR.of(words64(e));
      case "is_nan" -> ScalarFunction.IS_NAN.of(argument(e, 0, DataType.FLOAT64));
      case "floor" -> ScalarFunction.FLOOR.of(argument(e, 0, DataType.FLOAT64));
      case "ceil", "ceiling" -> ScalarFunction.CEIL.of(argument(e, 0, DataType.FLOAT64));
      case "date_trunc" -> known(e, SqlFunctions.dateTrunc(unit(e), moment(e, 1)));
      case "hour" -> ScalarFunction.HOUR.of(argument(e, 0, DataType.TIMESTAMP));
      case "minute" -> ScalarFunction.MINUTE.of(argument(e, 0, DataType.TIMESTAMP));
      case "second" -> ScalarFunction.SECOND.of(argument(e, 0, DataType.TIMESTAMP));
      case "date" -> moment(e, 0).as(DataType.DATE);
      case "millisecond" ->
        ScalarFunction.MODULO.of(ScalarFunction.MILLISECOND.of(argument(e, 0, DataType.TIMESTAMP)),
            Expression.integer(1000, DataType.INT64));
      case "date_diff" -> between(e, moment(e, 1), moment(e, 2));
      case "date_format" -> known(e, ClockText.of(literal(e, 1), argument(e, 0, DataType.TIMESTAMP), isEnglish()));
      case "array_join" -> joinedElements(e);
      case "array_min" -> extremeElement(ScalarFunction.LIST_MIN, e);
      case "array_max" -> extremeElement(ScalarFunction.LIST_MAX, e);
      case "array_position" -> ScalarFunction.LIST_POSITION.of(list(e, 0), alike(e, 1, list(e, 0), 0));
      default -> null;
    });
  }

  /** A date, or a timestamp that counts microseconds. */
  private Expression moment(E call, int argument) {
    Expression value = argument(call, argument);
    return value.type().same(DataType.TIMESTAMP) ? value : argument(call, argument, DataType.DATE);
  }

  private Expression between(E call, Expression from, Expression to) {
    return from.type().same(to.type()) ? known(call, SqlFunctions.dateDiff(unit(call), from, to)) : refuse(call);
  }

  // ---- arrays, maps and rows

  /** A call by its name in SQL that makes an array or a map, or takes one out of others. */
  protected final Expression made(String name, E e) {
    return switch (name) {
      case "element_at" -> elementAt(e);
      case "array_distinct" -> ScalarFunction.LIST_DISTINCT.of(list(e, 0));
      case "array_sort" -> arguments(e).size() == 1 ? sorted(list(e, 0), false) : refuse(e);
      case "array_union" -> ScalarFunction.LIST_DISTINCT.of(ScalarFunction.LIST_CONCAT.of(list(e, 0), like(e, 1)));
      case "array_except" -> ScalarFunction.LIST_EXCEPT.of(list(e, 0), like(e, 1));
      case "slice" -> slice(e);
      case "concat" -> ScalarFunction.LIST_CONCAT.of(lists(e));
      case "flatten" -> ScalarFunction.FLATTEN.of(nested(e, 0, DataType.Kind.LIST));
      case "map_keys" -> ScalarFunction.MAP_KEYS.of(nested(e, 0, DataType.Kind.MAP));
      case "map_values" -> ScalarFunction.MAP_VALUES.of(nested(e, 0, DataType.Kind.MAP));
      case "split" -> split(e);
      default -> refuse(e);
    };
  }

  /** An argument that is a list or a map. */
  protected final Expression nested(E call, int argument, DataType.Kind kind) {
    Expression value = passed(of(call, argument));
    return value.type().kind() == kind ? value : refuse(call);
  }

  /** A list of values that are compared: not of floats, of which engines say which are the same. */
  protected final Expression list(E call, int argument) {
    Expression list = nested(call, argument, DataType.Kind.LIST);
    return isCompared(part(list, 0)) ? list : refuse(call);
  }

  private static boolean isCompared(DataType type) {
    return !type.isFloat() && !(type instanceof DataType.Nested);
  }

  private static DataType part(Expression nested, int number) {
    return ((DataType.Nested) nested.type()).parts().get(number).type();
  }

  /** An argument of the type of the first one. */
  private Expression like(E call, int argument) {
    Expression value = passed(of(call, argument));
    return value.type().same(passed(of(call, 0)).type()) ? value : refuse(call);
  }

  /** An argument of the type that a part of a nested value has. */
  private Expression alike(E call, int argument, Expression nested, int number) {
    return argument(call, argument, part(nested, number));
  }

  private Expression[] lists(E call) {
    nested(call, 0, DataType.Kind.LIST);
    return IntStream.range(0, arguments(call).size()).mapToObj(i -> like(call, i)).toArray(Expression[] ::new);
  }

  private static Expression sorted(Expression list, boolean descending) {
    return ScalarFunction.LIST_SORT.of(list, Expression.bool(descending), Expression.bool(false));
  }

  private Expression slice(E call) {
    Expression part = ScalarFunction.LIST_SLICE.of(nested(call, 0, DataType.Kind.LIST),
        argument(call, 1).as(DataType.INT64), argument(call, 2).as(DataType.INT64));
    boolean sure = number(of(call, 1)).orElse(0) != 0 && number(of(call, 2)).orElse(-1) >= 0;
    return sure ? part : failing(call, part);
  }

  private Expression split(E call) {
    return arguments(call).size() == 2 && !literal(call, 1).isEmpty()
        ? ScalarFunction.SPLIT.of(argument(call, 0, DataType.STRING), Expression.string(literal(call, 1)))
        : refuse(call);
  }

  private Expression joinedElements(E call) {
    Expression list = nested(call, 0, DataType.Kind.LIST);
    if (!part(list, 0).same(DataType.STRING)) {
      return refuse(call);
    }
    Expression[] all =
        Stream
            .concat(Stream.of(list),
                IntStream.range(1, arguments(call).size()).mapToObj(i -> argument(call, i, DataType.STRING)))
            .toArray(Expression[] ::new);
    return ScalarFunction.LIST_JOIN.of(all);
  }

  /** NULL where an element is. */
  private Expression extremeElement(ScalarFunction function, E call) {
    Expression list = list(call, 0);
    if (arguments(call).size() > 1) {
      return refuse(call);
    }
    Expression found = function.of(list);
    Expression incomplete =
        ScalarFunction.LT.of(ScalarFunction.LIST_COUNT.of(list), ScalarFunction.CARDINALITY.of(list));
    return Expression.caseWhen(List.of(incomplete, Expression.nullOf(found.type())), found);
  }

  /** An element of an array by its place from either end, which is none of 0, or the value of a key. */
  protected final Expression elementAt(E call) {
    Expression of = passed(of(call, 0));
    if (of.type().kind() == DataType.Kind.MAP) {
      return ScalarFunction.MAP_VALUE.of(of, key(call, of));
    }
    if (number(of(call, 1)).isPresent()) {
      return element(call, of);
    }
    Expression place = argument(call, 1).as(DataType.INT64);
    Expression none = ScalarFunction.EQ.of(place, Expression.integer(0, DataType.INT64));
    Expression failed = ScalarFunction.LIST_SUBSCRIPT.of(of, place);
    return failing(call, Expression.caseWhen(List.of(none, failed), ScalarFunction.ELEMENT_AT.of(of, place)));
  }

  /** {@code a[i]}, which there must be. */
  protected final Expression subscript(E call) {
    Expression of = passed(of(call, 0));
    return failing(call,
        of.type().kind() == DataType.Kind.MAP
            ? ScalarFunction.MAP_SUBSCRIPT.of(of, key(call, of))
            : ScalarFunction.LIST_SUBSCRIPT.of(of, argument(call, 1).as(DataType.INT64)));
  }

  private Expression key(E call, Expression map) {
    return isCompared(part(map, 0)) ? alike(call, 1, map, 0) : refuse(call);
  }

  /** Whether an element equals a value; NULL if none does and one is NULL. */
  protected final Expression contains(E call, Expression list) {
    Expression value = argument(call, 1);
    boolean known = list.type() instanceof DataType.Nested nested && nested.parts().get(0).type().same(value.type());
    return known ? ScalarFunction.LIST_CONTAINS.of(list, value) : refuse(call);
  }

  /** An element by its place from either end, a literal other than 0; NULL where there is none. */
  protected final Expression element(E call, Expression list) {
    long place = whole(call, 1);
    return place == 0 ? refuse(call) : ScalarFunction.ELEMENT_AT.of(list, Expression.integer(place, DataType.INT64));
  }

  protected final String unit(E call) {
    return literal(call, 0).toLowerCase(Locale.ENGLISH);
  }

  protected final Expression known(E call, Optional<Expression> value) {
    return value.orElseThrow(() -> unknown(call));
  }

  /** Floats stay: engines say which of 0.0 and -0.0 is the greater. */
  private Expression extreme(ScalarFunction function, E call) {
    Expression[] values = all(call);
    boolean known = Stream.of(values).allMatch(v -> v.type().same(values[0].type()) && !v.type().isFloat());
    return known ? SqlFunctions.extreme(function, values) : refuse(call);
  }

  /** Of some text: no text is everywhere. */
  private Expression position(E call) {
    boolean known = arguments(call).size() == 2 && !literal(call, 1).isEmpty();
    return known ? ScalarFunction.POSITION.of(argument(call, 0, DataType.STRING), Expression.string(literal(call, 1)))
                 : refuse(call);
  }

  private Expression padded(ScalarFunction function, E call) {
    long length = whole(call, 1);
    String fill = literal(call, 2);
    return length >= 0 && length <= LENGTH_MAX && !fill.isEmpty()
        ? function.of(
              argument(call, 0, DataType.STRING), Expression.integer(length, DataType.INT64), Expression.string(fill))
        : refuse(call);
  }

  /** Of texts, which are NULL or joined; an array is none. */
  private Expression joined(E call) {
    return arguments(call).size() > 1 ? ScalarFunction.CONCAT_WS.of(texts(call)) : refuse(call);
  }

  private Expression translated(E call) {
    return ScalarFunction.TRANSLATE.of(
        argument(call, 0, DataType.STRING), Expression.string(literal(call, 1)), Expression.string(literal(call, 2)));
  }

  /** The name of a function that an expression calls; empty: it is something else. */
  protected abstract String called(E e);

  /** {@code to_hex(md5(to_utf8(text)))}: a digest in upper case. */
  private Expression digest(E call) {
    return ScalarFunction.UPPER.of(digits(call).orElseThrow(() -> unknown(call)));
  }

  /** In lower case; of other texts case is a matter of Unicode's rules. */
  private Expression hexDigits(E call) {
    E of = of(call, 0);
    return Optional.of(of)
        .filter(e -> called(e).equals("to_hex"))
        .flatMap(this::digits)
        .orElseThrow(() -> unknown(call));
  }

  private Optional<Expression> digits(E hex) {
    E digest = of(hex, 0);
    ScalarFunction function = switch (called(digest)) {
      case "md5" -> ScalarFunction.MD5;
      case "sha1" -> ScalarFunction.SHA1;
      case "sha256" -> ScalarFunction.SHA256;
      default -> null;
    };
    boolean ofText = function != null && called(of(digest, 0)).equals("to_utf8");
    return ofText ? Optional.of(function.of(argument(of(digest, 0), 0, DataType.STRING))) : Optional.empty();
  }

  private Expression[] words64(E call) {
    return new Expression[] {argument(call, 0, DataType.INT64), argument(call, 1, DataType.INT64)};
  }

  private Expression part(E call) {
    long number = whole(call, 2);
    String separator = literal(call, 1);
    return SqlFunctions.isPart(separator, number)
        ? SqlFunctions.splitPart(argument(call, 0, DataType.STRING), separator, number)
        : refuse(call);
  }

  /** From places that are literals, or the last so many code points; of a shorter text that is none. */
  private Expression substring(E call) {
    Expression text = argument(call, 0, DataType.STRING);
    int count = arguments(call).size();
    long start = whole(call, 1);
    if (start < 0 && count == 2) {
      Expression length = Expression.integer(-start, DataType.INT64);
      Expression holds = ScalarFunction.GE.of(ScalarFunction.CHAR_LENGTH.of(text), length);
      Expression none = Expression.caseWhen(
          List.of(ScalarFunction.IS_NULL.of(text), Expression.nullOf(DataType.STRING)), Expression.string(""));
      return Expression.caseWhen(List.of(holds, ScalarFunction.RIGHT.of(text, length)), none);
    }
    boolean fits = start > 0 && (count == 2 || whole(call, 2) >= 0);
    return fits ? ScalarFunction.SUBSTRING.of(all(call)) : refuse(call);
  }

  /** regexp_like by a pattern that means the same to accelerators. */
  protected final Expression matched(E call, String pattern) {
    if (!Patterns.isShared(pattern)) {
      throw new NotOffloaded(
          Code.EXPRESSION, "%s's patterns mean more than those of accelerators: %s".formatted(engine, pattern));
    }
    return ScalarFunction.REGEXP_LIKE.of(argument(call, 0, DataType.STRING), Expression.string(pattern));
  }

  /** The first match of a pattern that means the same to accelerators; NULL where there is none. */
  protected final Expression extracted(E call, String pattern) {
    Expression text = argument(call, 0, DataType.STRING);
    Expression found = ScalarFunction.REGEXP_EXTRACT.of(text, Expression.string(placed(call, pattern)));
    return Expression.caseWhen(List.of(matched(call, pattern), found), Expression.nullOf(DataType.STRING));
  }

  /** With a plain text in place of each match. */
  protected final Expression replacedMatches(E call, String pattern, String by) {
    if (by.contains("$") || by.contains("\\") || Patterns.matchesNothing(placed(call, pattern))) {
      throw unknown(call);
    }
    return ScalarFunction.REGEXP_REPLACE_ALL.of(
        argument(call, 0, DataType.STRING), Expression.string(pattern), Expression.string(by));
  }

  private String placed(E call, String pattern) {
    if (!Patterns.isPlaced(pattern)) {
      throw new NotOffloaded(
          Code.EXPRESSION, "%s's matches of a pattern with groups are its own: %s".formatted(engine, pattern));
    }
    return pattern;
  }

  protected final Expression nullIf(E call) {
    Expression[] values = all(call);
    return values[0].type().same(values[1].type()) ? ScalarFunction.NULL_IF.of(values) : refuse(call);
  }

  /** A comparison of values of one type, or of decimals. */
  protected static Expression compare(ScalarFunction function, Expression left, Expression right) {
    if (left.type().same(right.type())) {
      return function.of(left, right);
    }
    if (!(left.type() instanceof DataType.Decimal) || !(right.type() instanceof DataType.Decimal)) {
      throw new NotOffloaded(Code.TYPE, left.type().name() + " beside " + right.type().name());
    }
    DataType both = DecimalRules.common(left.type(), right.type());
    return function.of(left.as(both), right.as(both));
  }

  protected final Expression compare(ScalarFunction function, E call) {
    return compare(function, argument(call, 0), argument(call, 1));
  }

  /** An operation on integers, computed in 64 bits. */
  protected static Expression inWords(ScalarFunction function, Expression[] of, DataType type) {
    return function.of(of[0].as(DataType.INT64), of[1].as(DataType.INT64)).as(type);
  }

  /**
   * A cast to a text of at most {@code most} characters; {@code length}: the most that its input has, if that is a
   * text. Text in a narrower type is cut.
   */
  protected final Expression toText(
      E call, Expression value, boolean isText, OptionalInt length, OptionalInt most, String from, String to) {
    if (isText) {
      boolean holds = most.isEmpty() || length.isPresent() && length.getAsInt() <= most.getAsInt();
      return holds ? value
                   : ScalarFunction.SUBSTRING.of(value, Expression.integer(1, DataType.INT64),
                         Expression.integer(most.getAsInt(), DataType.INT64));
    }
    if (most.isPresent() || !value.type().isWhole() && !value.type().same(DataType.DATE)) {
      throw unknownCast(call, from, to);
    }
    return value.as(DataType.STRING);
  }

  /** The value, which has the type that the engine gives the expression. */
  protected final Expression checked(E e, Expression value, DataType type, String shown) {
    if (!value.type().same(type)) {
      throw new NotOffloaded(Code.TYPE, "%s would be %s, not %s".formatted(text(e), value.type().name(), shown));
    }
    return value;
  }

  // ---- why not

  protected final NotOffloaded unknownCast(E call, String from, String to) {
    return new NotOffloaded(Code.CAST, "casts from %s to %s are %s's own: %s".formatted(from, to, engine, text(call)));
  }

  protected final NotOffloaded unknownPattern(E call) {
    return new NotOffloaded(Code.EXPRESSION, "a pattern is offloaded if it is a literal: " + text(call));
  }

  protected final <T> T refuse(E e) {
    throw unknown(e);
  }

  protected final NotOffloaded unknown(E e) {
    return new NotOffloaded(Code.EXPRESSION, engine + " computes " + text(e));
  }
}
