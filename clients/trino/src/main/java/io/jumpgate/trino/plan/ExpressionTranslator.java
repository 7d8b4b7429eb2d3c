package io.jumpgate.trino.plan;

import io.airlift.slice.Slice;
import io.jumpgate.dataflow.Casts;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DateParts;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Patterns;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.trino.spi.expression.Call;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Constant;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.Int128;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarcharType;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Trino's expressions as entries of a request: equal in every value, or not at all. What can fail is none of them:
 * Trino shows parts of an expression or a condition without what may guard them, say CASE.
 */
final class ExpressionTranslator {
  private static final int DIGITS_MAX = 38;
  /** So many digits a double holds: one division, which rounds once. */
  private static final int DOUBLE_DIGITS = 15;

  private final Scope scope;

  ExpressionTranslator(Scope scope) {
    this.scope = scope;
  }

  /** Raises NotOffloaded. */
  Expression translate(ConnectorExpression e) {
    DataType type = Types.jumpgate(e.getType());
    Expression value;
    if (e instanceof Variable variable) {
      value = scope.column(variable.getName());
    } else if (e instanceof Constant constant) {
      value = Types.literal(constant.getValue(), constant.getType());
    } else if (e instanceof Call call && call.getFunctionName().getCatalogSchema().isEmpty()) {
      value = call(call, type);
    } else {
      throw unknown(e);
    }
    if (!value.type().same(type)) {
      throw new NotOffloaded(
          Code.TYPE, "%s would be %s, not %s".formatted(text(e), value.type().name(), e.getType().getDisplayName()));
    }
    return value;
  }

  private Expression[] all(Call e) {
    return e.getArguments().stream().map(this::translate).toArray(Expression[] ::new);
  }

  private Expression call(Call e, DataType type) {
    String name = e.getFunctionName().getName();
    Optional<String> part = DateParts.function(name);
    if (part.isPresent()) {
      return part(part.get(), e, type);
    }
    return switch (name) {
      case "$and" -> Expression.and(all(e));
      case "$or" -> Expression.or(all(e));
      case "$not" -> Expression.not(argument(e, 0));
      case "$is_null" -> Expression.isNull(argument(e, 0));
      case "$equal" -> compare("eq", e);
      case "$not_equal" -> compare("ne", e);
      case "$less_than" -> compare("lt", e);
      case "$less_than_or_equal" -> compare("le", e);
      case "$greater_than" -> compare("gt", e);
      case "$greater_than_or_equal" -> compare("ge", e);
      case "$nullif" -> nullIf(e);
      case "$in" -> member(e);
      case "$cast" -> cast(e, type);
      case "$add" -> sum("add", e, type);
      case "$subtract" -> sum("subtract", e, type);
      case "$multiply" -> product(e, type);
      case "$divide" -> quotient(e, type);
      case "$modulus" -> rest(e, type);
      case "$negate" -> signed("negate", e, type);
      case "abs" -> signed("abs", e, type);
      case "$like" -> like(e, type);
      case "length" -> Expression.strict("char_length", type, words(e));
      case "concat" -> Expression.strict("concat", type, words(e));
      case "starts_with" -> Expression.strict("starts_with", type, words(e));
      case "substr", "substring" -> substring(e, type);
      case "greatest", "least" -> extreme(name, e);
      case "replace" -> replaced(e, type);
      case "split_part" -> {
        long number = whole(e, e.getArguments().get(2));
        String separator = literal(e, 1);
        yield SqlFunctions.isPart(separator, number) ? SqlFunctions.splitPart(text(e, 0), separator, number)
                                                     : refuse(e);
      }
      case "regexp_like" -> matched(e, type);
      case "date_trunc" -> known(e, SqlFunctions.dateTrunc(literal(e, 0).toLowerCase(Locale.ENGLISH), date(e, 1)));
      case "date_diff" ->
        known(e, SqlFunctions.dateDiff(literal(e, 0).toLowerCase(Locale.ENGLISH), date(e, 1), date(e, 2)));
      default -> throw unknown(e);
    };
  }

  private Expression argument(Call e, int index) {
    return translate(e.getArguments().get(index));
  }

  private Expression compare(String function, Call e) {
    Expression left = argument(e, 0);
    Expression right = argument(e, 1);
    return left.type().same(right.type()) ? Expression.compare(function, left, right) : refuse(e);
  }

  private Expression nullIf(Call e) {
    Expression[] values = all(e);
    boolean same = values[0].type().same(values[1].type());
    return same ? Expression.call("null_if", values[0].type().withNullable(true), values) : refuse(e);
  }

  private Expression member(Call e) {
    Expression value = argument(e, 0);
    List<ConnectorExpression> options = ((Call) e.getArguments().get(1)).getArguments();
    if (!options.stream().allMatch(Constant.class ::isInstance)) {
      throw unknown(e);
    }
    List<Expression> literals = options.stream().map(this::translate).toList();
    return literals.stream().allMatch(l -> l.type().same(value.type())) ? Expression.in(value, literals) : refuse(e);
  }

  // ---- text and dates

  private Expression part(String function, Call e, DataType type) {
    return Expression.strict(function, type, date(e, 0));
  }

  private Expression date(Call e, int index) {
    Expression value = argument(e, index);
    return value.type().same(DataType.DATE) ? value : refuse(e);
  }

  private static Expression known(Call e, Optional<Expression> value) {
    return value.orElseThrow(() -> unknown(e));
  }

  /** Of floats Trino has orders of its own. */
  private Expression extreme(String function, Call e) {
    Expression[] values = all(e);
    boolean known = Stream.of(values).allMatch(v -> v.type().same(values[0].type()) && !Types.isFloat(v.type()));
    return known ? SqlFunctions.extreme(function, values) : refuse(e);
  }

  /** Of some text by no more text: longer ones have a bound. */
  private Expression replaced(Call e, DataType type) {
    String by = e.getArguments().size() == 2 ? "" : literal(e, 2);
    boolean shorter = !literal(e, 1).isEmpty() && bytes(by) <= bytes(literal(e, 1));
    return shorter ? Expression.strict("replace", type, text(e, 0), text(e, 1), Expression.string(by)) : refuse(e);
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private Expression matched(Call e, DataType type) {
    String pattern = literal(e, 1);
    if (!Patterns.isShared(pattern)) {
      throw new NotOffloaded(Code.EXPRESSION, "Trino's patterns mean more than those of accelerators: " + pattern);
    }
    return Expression.strict("regexp_like", type, text(e, 0), Expression.string(pattern));
  }

  private static String literal(Call e, int index) {
    if (e.getArguments().get(index) instanceof Constant c && c.getValue() instanceof Slice text) {
      return text.toStringUtf8();
    }
    throw unknown(e);
  }

  private Expression text(Call e, int index) {
    Expression value = argument(e, index);
    return value.type().same(DataType.STRING) ? value : refuse(e);
  }

  private Expression[] words(Call e) {
    Expression[] words = all(e);
    for (Expression word : words) {
      if (!word.type().same(DataType.STRING)) {
        throw unknown(e);
      }
    }
    return words;
  }

  /** From places that are literals, or the last so many code points; of a shorter text that is none. */
  private Expression substring(Call e, DataType type) {
    Expression text = argument(e, 0);
    List<ConnectorExpression> of = e.getArguments();
    if (!text.type().same(DataType.STRING)) {
      throw unknown(e);
    }
    long start = whole(e, of.get(1));
    if (start < 0 && of.size() == 2) {
      Expression length = Expression.integer(-start, DataType.INT64);
      Expression holds = Expression.compare("ge", Expression.strict("char_length", DataType.INT64, text), length);
      Expression none = Expression.caseWhen(
          List.of(Expression.isNull(text), Expression.nullOf(DataType.STRING)), Expression.string(""));
      return Expression.caseWhen(List.of(holds, Expression.strict("right", type, text, length)), none);
    }
    boolean fits = start > 0 && (of.size() == 2 || whole(e, of.get(2)) >= 0);
    return fits ? Expression.strict("substring", type, all(e)) : refuse(e);
  }

  private static long whole(Call e, ConnectorExpression argument) {
    if (argument instanceof Constant constant && constant.getValue() instanceof Long value) {
      return value;
    }
    throw unknown(e);
  }

  private Expression like(Call e, DataType type) {
    List<ConnectorExpression> of = e.getArguments();
    boolean literal = of.stream().skip(1).allMatch(
        a -> a instanceof Constant c && c.getValue() != null && c.getType() instanceof VarcharType);
    if (!literal) {
      throw new NotOffloaded(Code.EXPRESSION, "a pattern is offloaded if it is a literal: " + text(e));
    }
    if (of.size() == 3 && !isPattern(word(of.get(1)), word(of.get(2)))) {
      throw mayFail(e);
    }
    return Expression.strict("like", type, words(e));
  }

  private static int[] word(ConnectorExpression e) {
    return ((Slice) ((Constant) e).getValue()).toStringUtf8().codePoints().toArray();
  }

  /** Whether the escape character is one, and stands before what it may stand before. */
  private static boolean isPattern(int[] pattern, int[] escape) {
    for (int i = 0; escape.length == 1 && i < pattern.length; i++) {
      if (pattern[i] == escape[0]
          && (++i == pattern.length || "%_".indexOf(pattern[i]) < 0 && pattern[i] != escape[0])) {
        return false;
      }
    }
    return escape.length == 1;
  }

  // ---- numbers

  private Expression sum(String function, Call e, DataType type) {
    Expression[] of = all(e);
    if (type instanceof DataType.Decimal decimal && holds(DecimalRules.common(of[0].type(), of[1].type()), decimal)) {
      return DecimalRules.sum(function, of[0], of[1], decimal);
    }
    return floating(function, of, e, type);
  }

  /** Whether one more digit than {@code terms} have is left. */
  private static boolean holds(DataType.Decimal terms, DataType.Decimal sum) {
    return terms.scale() <= sum.scale() && terms.precision() - terms.scale() < sum.precision() - sum.scale();
  }

  private Expression product(Call e, DataType type) {
    Expression[] of = all(e);
    if (type instanceof DataType.Decimal decimal) {
      DataType.Decimal a = (DataType.Decimal) of[0].type();
      DataType.Decimal b = (DataType.Decimal) of[1].type();
      return a.precision() + b.precision() <= DIGITS_MAX ? DecimalRules.product(of[0], of[1], decimal)
                                                         : refuseFailing(e);
    }
    return floating("multiply", of, e, type);
  }

  /** By a number other than 0, and, of integers, other than -1. */
  private Expression quotient(Call e, DataType type) {
    Expression[] of = all(e);
    if (type instanceof DataType.Decimal decimal) {
      DataType.Decimal a = (DataType.Decimal) of[0].type();
      DataType.Decimal b = (DataType.Decimal) of[1].type();
      int digits = a.precision() + b.scale() + Math.max(0, b.scale() - a.scale());
      return isDivisor(e) && digits <= DIGITS_MAX ? DecimalRules.quotient(of[0], of[1], decimal) : refuseFailing(e);
    }
    return Types.isWhole(type) && isDivisor(e) ? inWords("int_divide", of, type) : floating("divide", of, e, type);
  }

  private Expression rest(Call e, DataType type) {
    Expression[] of = all(e);
    boolean whole = Types.isWhole(type) && isDivisor(e);
    return whole                      ? inWords("modulo", of, type)
        : type.same(DataType.FLOAT64) ? floating("modulo", of, e, type)
                                      : refuseFailing(e);
  }

  private static boolean isDivisor(Call e) {
    if (!(e.getArguments().get(1) instanceof Constant divisor)) {
      return false;
    }
    Object value = divisor.getValue();
    return value instanceof Long number ? number != 0 && number != -1
                                        : value instanceof Int128 large && !large.isZero();
  }

  private static Expression inWords(String function, Expression[] of, DataType type) {
    Expression[] words = {Types.cast(of[0], DataType.INT64), Types.cast(of[1], DataType.INT64)};
    return Types.cast(Expression.fallible(function, DataType.INT64, words), type);
  }

  private Expression signed(String function, Call e, DataType type) {
    Expression value = argument(e, 0);
    return type instanceof DataType.Decimal || Types.isFloat(type) ? Expression.fallible(function, type, value)
                                                                   : refuseFailing(e);
  }

  private Expression floating(String function, Expression[] of, Call e, DataType type) {
    return Types.isFloat(type) ? Expression.fallible(function, type, of) : refuseFailing(e);
  }

  // ---- casts

  private Expression cast(Call e, DataType to) {
    ConnectorExpression input = e.getArguments().get(0);
    Expression value = translate(input);
    DataType from = value.type();
    if (to.same(DataType.STRING)) {
      return toText(e, value, input.getType());
    }
    boolean inDouble = from instanceof DataType.Decimal decimal && decimal.precision() <= DOUBLE_DIGITS;
    boolean number = Types.isWhole(from) || from.same(DataType.BOOL) && Types.isWhole(to)
        || from instanceof DataType.Decimal && to instanceof DataType.Decimal || inDouble && to.same(DataType.FLOAT64)
        || from.same(DataType.FLOAT32) && to.same(DataType.FLOAT64);
    if (!from.same(to) && !(number && Casts.cannotFail(from, to))) {
      throw unknownCast(e, input.getType());
    }
    return Types.cast(value, to);
  }

  /** Text in a narrower type is cut. */
  private static Expression toText(Call e, Expression value, Type from) {
    VarcharType to = (VarcharType) e.getType();
    if (from instanceof VarcharType text) {
      boolean holds = to.isUnbounded() || !text.isUnbounded() && text.getBoundedLength() <= to.getBoundedLength();
      return holds ? value
                   : Expression.strict("substring", DataType.STRING, value, Expression.integer(1, DataType.INT64),
                         Expression.integer(to.getBoundedLength(), DataType.INT64));
    }
    boolean plain = to.isUnbounded() && (Types.isWhole(value.type()) || value.type().same(DataType.DATE));
    if (!plain) {
      throw unknownCast(e, from);
    }
    return Types.cast(value, DataType.STRING);
  }

  // ---- why not

  private static NotOffloaded unknownCast(Call e, Type from) {
    return new NotOffloaded(Code.CAST,
        "casts from %s to %s are Trino's own: %s".formatted(
            from.getDisplayName(), e.getType().getDisplayName(), text(e)));
  }

  private static Expression refuse(ConnectorExpression e) {
    throw unknown(e);
  }

  private static Expression refuseFailing(ConnectorExpression e) {
    throw mayFail(e);
  }

  private static NotOffloaded mayFail(ConnectorExpression e) {
    return new NotOffloaded(Code.EXPRESSION, "it may fail, and Trino does not show what guards it: " + text(e));
  }

  private static NotOffloaded unknown(ConnectorExpression e) {
    return new NotOffloaded(Code.EXPRESSION, "Trino computes " + text(e));
  }

  /** For people. */
  private static String text(ConnectorExpression e) {
    if (e instanceof Call call) {
      String name = call.getFunctionName().getName().replace("$", "");
      return name
          + call.getArguments()
                .stream()
                .map(ExpressionTranslator::text)
                .toList()
                .toString()
                .replace('[', '(')
                .replace(']', ')');
    }
    if (e instanceof Constant constant) {
      Object value = constant.getValue();
      return value instanceof Slice slice ? "'" + slice.toStringUtf8() + "'" : String.valueOf(value);
    }
    return e instanceof Variable variable ? variable.getName() : e.toString();
  }
}
