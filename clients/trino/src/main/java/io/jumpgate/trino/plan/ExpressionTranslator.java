package io.jumpgate.trino.plan;

import io.airlift.slice.Slice;
import io.jumpgate.dataflow.Casts;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlTranslator;
import io.trino.spi.expression.Call;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Constant;
import io.trino.spi.expression.FieldDereference;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.ArrayType;
import io.trino.spi.type.Int128;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarcharType;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Trino's expressions as entries of a request: equal in every value, or not at all. What can fail is none of them:
 * Trino shows parts of an expression or a condition without what may guard them, say CASE.
 */
final class ExpressionTranslator extends SqlTranslator<ConnectorExpression> {
  private static final int DIGITS_MAX = 38;
  /** So many digits a double holds: one division, which rounds once. */
  private static final int DOUBLE_DIGITS = 15;

  private final Scope scope;

  ExpressionTranslator(Scope scope) {
    super("Trino");
    this.scope = scope;
  }

  /** Raises NotOffloaded. */
  @Override
  protected Expression passed(ConnectorExpression e) {
    if (e instanceof Variable variable) {
      return scope.column(variable.getName());
    }
    if (e instanceof FieldDereference field) {
      return field(field);
    }
    boolean made = Types.isNested(e.getType()) && e instanceof Call;
    return made ? made(called(e), e) : translate(e);
  }

  /** Nobody says here in which language the session is. */
  @Override
  protected boolean isEnglish() {
    return false;
  }

  @Override
  protected Expression failing(ConnectorExpression call, Expression value) {
    return refuseFailing(call);
  }

  private Expression field(FieldDereference e) {
    return Expression.member(passed(e.getTarget()), e.getField());
  }

  @Override
  public Expression translate(ConnectorExpression e) {
    DataType type = Types.jumpgate(e.getType());
    Expression value;
    if (e instanceof Variable variable) {
      value = scope.column(variable.getName());
    } else if (e instanceof Constant constant) {
      value = Types.literal(constant.getValue(), constant.getType());
    } else if (e instanceof FieldDereference field) {
      value = field(field);
    } else if (e instanceof Call call && call.getFunctionName().getCatalogSchema().isEmpty()) {
      value = call(call, type);
    } else {
      throw unknown(e);
    }
    return checked(e, value, type, e.getType().getDisplayName());
  }

  @Override
  protected List<ConnectorExpression> arguments(ConnectorExpression call) {
    return ((Call) call).getArguments();
  }

  @Override
  protected OptionalLong number(ConnectorExpression e) {
    return e instanceof Constant c && c.getValue() instanceof Long value ? OptionalLong.of(value)
                                                                         : OptionalLong.empty();
  }

  @Override
  protected Optional<String> words(ConnectorExpression e) {
    return e instanceof Constant c && c.getValue() instanceof Slice text ? Optional.of(text.toStringUtf8())
                                                                         : Optional.empty();
  }

  private Expression call(Call e, DataType type) {
    String name = e.getFunctionName().getName();
    return switch (name) {
      case "$and" -> ScalarFunction.AND.of(all(e));
      case "$or" -> ScalarFunction.OR.of(all(e));
      case "$not" -> ScalarFunction.NOT.of(argument(e, 0));
      case "$is_null" -> ScalarFunction.IS_NULL.of(passed(of(e, 0)));
      case "$equal" -> compare(ScalarFunction.EQ, e);
      case "$not_equal" -> compare(ScalarFunction.NE, e);
      case "$less_than" -> compare(ScalarFunction.LT, e);
      case "$less_than_or_equal" -> compare(ScalarFunction.LE, e);
      case "$greater_than" -> compare(ScalarFunction.GT, e);
      case "$greater_than_or_equal" -> compare(ScalarFunction.GE, e);
      case "$nullif" -> nullIf(e);
      case "$in" -> member(e);
      case "$cast" -> cast(e, type);
      case "$add" -> sum(ScalarFunction.ADD, e, type);
      case "$subtract" -> sum(ScalarFunction.SUBTRACT, e, type);
      case "$multiply" -> product(e, type);
      case "$divide" -> quotient(e, type);
      case "$modulus" -> rest(e, type);
      case "$negate" -> signed(ScalarFunction.NEGATE, e, type);
      case "abs" -> signed(ScalarFunction.ABS, e, type);
      case "$like" -> like(e);
      case "replace" -> replaced(e);
      case "regexp_like" -> matched(e, literal(e, 1));
      case "regexp_extract" -> e.getArguments().size() == 2 ? extracted(e, literal(e, 1)) : refuse(e);
      case "regexp_replace" -> replacedMatches(e);
      case "mod" -> rest(e, type);
      case "cardinality" -> cardinality(e);
      case "element_at" -> elementAt(e);
      case "contains" -> contains(e);
      default -> known(e, shared(name, e));
    };
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

  private Expression cardinality(Call e) {
    return Types.isNested(of(e, 0).getType()) ? ScalarFunction.CARDINALITY.of(passed(of(e, 0))) : refuse(e);
  }

  /** Not of floats: NaN is in no array of Trino's. */
  private Expression contains(Call e) {
    boolean known = of(e, 0).getType() instanceof ArrayType && !argument(e, 1).type().isFloat();
    return known ? contains(e, passed(of(e, 0))) : refuse(e);
  }

  // ---- text and dates

  /** Of some text by no more text: longer ones have a bound. */
  private Expression replaced(Call e) {
    String by = e.getArguments().size() == 2 ? "" : literal(e, 2);
    boolean shorter = !literal(e, 1).isEmpty() && bytes(by) <= bytes(literal(e, 1));
    return shorter ? ScalarFunction.REPLACE.of(
                         argument(e, 0, DataType.STRING), argument(e, 1, DataType.STRING), Expression.string(by))
                   : refuse(e);
  }

  /** By no more text than a match has: longer ones have a bound. */
  private Expression replacedMatches(Call e) {
    String by = e.getArguments().size() == 2 ? "" : literal(e, 2);
    return bytes(by) <= 1 ? replacedMatches(e, literal(e, 1), by) : refuseFailing(e);
  }

  @Override
  protected String called(ConnectorExpression e) {
    return e instanceof Call call ? call.getFunctionName().getName() : "";
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private Expression like(Call e) {
    List<ConnectorExpression> of = e.getArguments();
    boolean literal = of.stream().skip(1).allMatch(
        a -> a instanceof Constant c && c.getValue() != null && c.getType() instanceof VarcharType);
    if (!literal) {
      throw unknownPattern(e);
    }
    if (of.size() == 3 && !isPattern(word(of.get(1)), word(of.get(2)))) {
      throw mayFail(e);
    }
    return ScalarFunction.LIKE.of(texts(e));
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

  private Expression sum(ScalarFunction function, Call e, DataType type) {
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
    return floating(ScalarFunction.MULTIPLY, of, e, type);
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
    return type.isWhole() && isDivisor(e) ? inWords(ScalarFunction.INT_DIVIDE, of, type)
                                          : floating(ScalarFunction.DIVIDE, of, e, type);
  }

  private Expression rest(Call e, DataType type) {
    Expression[] of = all(e);
    boolean whole = type.isWhole() && isDivisor(e);
    return whole                      ? inWords(ScalarFunction.MODULO, of, type)
        : type.same(DataType.FLOAT64) ? floating(ScalarFunction.MODULO, of, e, type)
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

  private Expression signed(ScalarFunction function, Call e, DataType type) {
    Expression value = argument(e, 0);
    return type instanceof DataType.Decimal || type.isFloat() ? function.of(value) : refuseFailing(e);
  }

  private Expression floating(ScalarFunction function, Expression[] of, Call e, DataType type) {
    return type.isFloat() ? function.of(of) : refuseFailing(e);
  }

  // ---- casts

  private Expression cast(Call e, DataType to) {
    ConnectorExpression input = e.getArguments().get(0);
    Expression value = translate(input);
    DataType from = value.type();
    if (to.same(DataType.STRING)) {
      VarcharType text = (VarcharType) e.getType();
      return toText(e, value, input.getType() instanceof VarcharType, length(input.getType()), length(text),
          input.getType().getDisplayName(), text.getDisplayName());
    }
    boolean inDouble = from instanceof DataType.Decimal decimal && decimal.precision() <= DOUBLE_DIGITS;
    boolean number = from.isWhole() || from.same(DataType.BOOL) && to.isWhole()
        || from instanceof DataType.Decimal && to instanceof DataType.Decimal || inDouble && to.same(DataType.FLOAT64)
        || from.same(DataType.FLOAT32) && to.same(DataType.FLOAT64);
    boolean day = from.same(DataType.TIMESTAMP) && to.same(DataType.DATE);
    if (!from.same(to) && !day && !(number && Casts.cannotFail(from, to))) {
      throw unknownCast(e, input.getType().getDisplayName(), e.getType().getDisplayName());
    }
    return value.as(to);
  }

  private static OptionalInt length(Type type) {
    return type instanceof VarcharType text ? text.getLength().map(OptionalInt::of).orElseGet(OptionalInt::empty)
                                            : OptionalInt.empty();
  }

  // ---- why not

  private Expression refuseFailing(ConnectorExpression e) {
    throw mayFail(e);
  }

  private NotOffloaded mayFail(ConnectorExpression e) {
    return new NotOffloaded(Code.EXPRESSION, "it may fail, and Trino does not show what guards it: " + text(e));
  }

  @Override
  protected String text(ConnectorExpression e) {
    if (e instanceof Call call) {
      String name = call.getFunctionName().getName().replace("$", "");
      return name
          + call.getArguments().stream().map(this::text).toList().toString().replace('[', '(').replace(']', ')');
    }
    if (e instanceof Constant constant) {
      Object value = constant.getValue();
      return value instanceof Slice slice ? "'" + slice.toStringUtf8() + "'" : String.valueOf(value);
    }
    if (e instanceof FieldDereference field) {
      return text(field.getTarget()) + "." + field.getField();
    }
    return e instanceof Variable variable ? variable.getName() : e.toString();
  }
}
