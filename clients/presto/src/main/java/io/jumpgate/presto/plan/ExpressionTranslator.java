package io.jumpgate.presto.plan;

import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.function.OperatorType;
import com.facebook.presto.common.type.ArrayType;
import com.facebook.presto.common.type.DateType;
import com.facebook.presto.common.type.MapType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.TypeUtils;
import com.facebook.presto.common.type.VarcharType;
import com.facebook.presto.spi.relation.CallExpression;
import com.facebook.presto.spi.relation.ConstantExpression;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.SpecialFormExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.airlift.slice.Slice;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DateParts;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Patterns;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Presto's expressions as entries of a request: equal in every value and error, or not at all. */
final class ExpressionTranslator {
  private static final long DAY_MILLIS = 86_400_000;

  private final Functions functions;
  private final Function<VariableReferenceExpression, Expression> columns;

  ExpressionTranslator(Functions functions, Function<VariableReferenceExpression, Expression> columns) {
    this.functions = functions;
    this.columns = columns;
  }

  /** Raises NotOffloaded. */
  Expression translate(RowExpression e) {
    DataType type = Types.jumpgate(e.getType());
    Expression value;
    if (e instanceof VariableReferenceExpression variable) {
      value = columns.apply(variable);
    } else if (e instanceof ConstantExpression constant) {
      value = Types.literal(constant.getValue(), constant.getType());
    } else if (e instanceof SpecialFormExpression form) {
      value = form(form);
    } else if (e instanceof CallExpression call) {
      value = call(call, type);
    } else {
      throw unknown(e);
    }
    if (!value.type().same(type)) {
      throw new NotOffloaded(Code.TYPE,
          "%s would be %s, not %s".formatted(functions.text(e), value.type().name(), e.getType().getDisplayName()));
    }
    return value;
  }

  private Expression[] all(List<RowExpression> of) {
    return of.stream().map(this::translate).toArray(Expression[] ::new);
  }

  // ---- choices

  private Expression form(SpecialFormExpression e) {
    List<RowExpression> of = e.getArguments();
    return switch (e.getForm()) {
      case AND -> Expression.and(all(of));
      case OR -> Expression.or(all(of));
      case IS_NULL -> Expression.isNull(translate(of.get(0)));
      case COALESCE -> Expression.any("coalesce", all(of));
      case IF -> Expression.caseWhen(List.of(translate(of.get(0)), translate(of.get(1))), translate(of.get(2)));
      case SWITCH -> choice(of);
      case NULL_IF -> nullIf(e, of);
      case IN -> member(of);
      default -> throw unknown(e);
    };
  }

  /** CASE of a value; one of conditions has TRUE for it. */
  private Expression choice(List<RowExpression> of) {
    boolean searched = of.get(0) instanceof ConstantExpression c && Boolean.TRUE.equals(c.getValue());
    List<Expression> branches = new ArrayList<>();
    for (RowExpression branch : of.subList(1, of.size() - 1)) {
      List<RowExpression> when = ((SpecialFormExpression) branch).getArguments();
      Expression condition = translate(when.get(0));
      branches.add(searched ? condition : compare("eq", translate(of.get(0)), condition));
      branches.add(translate(when.get(1)));
    }
    return Expression.caseWhen(branches, translate(of.get(of.size() - 1)));
  }

  private Expression nullIf(RowExpression e, List<RowExpression> of) {
    Expression[] values = all(of);
    boolean same = values[0].type().same(values[1].type());
    return same ? Expression.call("null_if", values[0].type().withNullable(true), values) : refuse(e);
  }

  private Expression member(List<RowExpression> of) {
    Expression value = translate(of.get(0));
    List<RowExpression> options = of.subList(1, of.size());
    if (options.stream().allMatch(ConstantExpression.class ::isInstance)) {
      return Expression.in(value, List.of(all(options)));
    }
    return Expression.or(
        options.stream().map(option -> compare("eq", value, translate(option))).toArray(Expression[] ::new));
  }

  // ---- calls

  private Expression call(CallExpression e, DataType type) {
    if (!functions.isDeterministic(e.getFunctionHandle())) {
      throw new NotOffloaded(Code.NONDETERMINISTIC, functions.text(e) + " may give another value each time");
    }
    return functions.operator(e.getFunctionHandle())
        .map(operator -> operator(e, operator, type))
        .orElseGet(() -> named(e, functions.name(e.getFunctionHandle()), type));
  }

  private Expression operator(CallExpression e, OperatorType operator, DataType type) {
    List<RowExpression> of = e.getArguments();
    return switch (operator) {
      case EQUAL -> compare("eq", of);
      case NOT_EQUAL -> compare("ne", of);
      case LESS_THAN -> compare("lt", of);
      case LESS_THAN_OR_EQUAL -> compare("le", of);
      case GREATER_THAN -> compare("gt", of);
      case GREATER_THAN_OR_EQUAL -> compare("ge", of);
      case BETWEEN ->
        Expression.and(compare("ge", List.of(of.get(0), of.get(1))), compare("le", List.of(of.get(0), of.get(2))));
      case ADD -> sum("add", e, type);
      case SUBTRACT -> sum("subtract", e, type);
      case MULTIPLY -> product(e, type);
      case DIVIDE -> quotient(e, type);
      case MODULUS -> rest(e, type);
      case NEGATION -> Expression.fallible("negate", type, translate(of.get(0)));
      case CAST -> cast(e, type);
      default -> throw unknown(e);
    };
  }

  private Expression compare(String function, List<RowExpression> of) {
    return compare(function, translate(of.get(0)), translate(of.get(1)));
  }

  private static Expression compare(String function, Expression left, Expression right) {
    if (left.type().same(right.type())) {
      return Expression.compare(function, left, right);
    }
    if (!(left.type() instanceof DataType.Decimal) || !(right.type() instanceof DataType.Decimal)) {
      throw new NotOffloaded(Code.TYPE, left.type().name() + " beside " + right.type().name());
    }
    DataType both = DecimalRules.common(left.type(), right.type());
    return Expression.compare(function, Types.cast(left, both), Types.cast(right, both));
  }

  private Expression named(CallExpression e, String name, DataType type) {
    Optional<String> part = DateParts.function(name);
    if (part.isPresent()) {
      return part(part.get(), e, type);
    }
    List<RowExpression> of = e.getArguments();
    return switch (name) {
      case "not" -> Expression.not(translate(of.get(0)));
      case "length" -> Expression.strict("char_length", type, text(e, 0));
      case "concat" -> {
        IntStream.range(0, of.size()).forEach(i -> text(e, i));
        yield Expression.strict("concat", type, all(of));
      }
      case "starts_with" -> Expression.strict("starts_with", type, text(e, 0), text(e, 1));
      case "substr", "substring" -> substring(e, type);
      case "like" -> like(e, type);
      case "cardinality" -> pieces(e);
      case "element_at" -> lookup(e);
      case "contains" -> contained(e);
      case "abs" -> Expression.fallible("abs", type, translate(of.get(0)));
      case "greatest", "least" -> extreme(name, e);
      case "replace" -> replaced(e, type);
      case "split_part" -> {
        long number = whole(e, of.get(2));
        String separator = literal(e, 1);
        yield SqlFunctions.isPart(separator, number) ? SqlFunctions.splitPart(text(e, 0), separator, number)
                                                     : refuse(e);
      }
      case "regexp_like" -> matched(e, type);
      case "date_trunc" -> known(e, SqlFunctions.dateTrunc(unit(e), date(e, 1)));
      case "date_add" -> known(e, SqlFunctions.later(date(e, 2), unit(e), whole(e, of.get(1))));
      case "date_diff" -> known(e, SqlFunctions.dateDiff(unit(e), date(e, 1), date(e, 2)));
      default -> throw unknown(e);
    };
  }

  /** Of floats Presto says which of 0.0 and -0.0 it is. */
  private Expression extreme(String function, CallExpression e) {
    Expression[] values = all(e.getArguments());
    boolean known = Stream.of(values).allMatch(v -> v.type().same(values[0].type()) && !isFloat(v.type()));
    return known ? SqlFunctions.extreme(function, values) : refuse(e);
  }

  /** Of some text: what Presto does with no text is its own. */
  private Expression replaced(CallExpression e, DataType type) {
    Expression by = e.getArguments().size() == 2 ? Expression.string("") : text(e, 2);
    return literal(e, 1).isEmpty() ? refuse(e) : Expression.strict("replace", type, text(e, 0), text(e, 1), by);
  }

  private Expression matched(CallExpression e, DataType type) {
    if (!(e.getArguments().get(1) instanceof CallExpression pattern) || pattern.getArguments().size() != 1) {
      throw unknown(e);
    }
    String words = literal(pattern, 0);
    if (!Patterns.isShared(words)) {
      throw new NotOffloaded(Code.EXPRESSION, "Presto's patterns mean more than those of accelerators: " + words);
    }
    return Expression.strict("regexp_like", type, text(e, 0), Expression.string(words));
  }

  private String literal(CallExpression e, int argument) {
    if (e.getArguments().get(argument) instanceof ConstantExpression c && c.getValue() instanceof Slice text) {
      return text.toStringUtf8();
    }
    throw unknown(e);
  }

  private String unit(CallExpression e) {
    return literal(e, 0).toLowerCase(Locale.ENGLISH);
  }

  private Expression date(CallExpression e, int argument) {
    Expression value = translate(e.getArguments().get(argument));
    return value.type().same(DataType.DATE) ? value : refuse(e);
  }

  private Expression known(CallExpression e, Optional<Expression> value) {
    return value.orElseThrow(() -> unknown(e));
  }

  /** A date and an interval of whole days, or of months. */
  private Expression moved(CallExpression e, int sign) {
    List<RowExpression> of = e.getArguments();
    int at = of.get(0).getType().equals(DateType.DATE) ? 0 : 1;
    String interval = of.get(1 - at).getType().getTypeSignature().getBase();
    if (!interval.startsWith("interval ")) {
      throw unknown(e);
    }
    long number = sign * whole(e, of.get(1 - at));
    if (interval.equals("interval year to month")) {
      return SqlFunctions.later(date(e, at), number, 0);
    }
    return number % DAY_MILLIS == 0 ? SqlFunctions.later(date(e, at), 0, number / DAY_MILLIS) : refuse(e);
  }

  private Expression part(String function, CallExpression e, DataType type) {
    return Expression.strict(function, type, date(e, 0));
  }

  private Expression text(CallExpression e, int argument) {
    Expression value = translate(e.getArguments().get(argument));
    return value.type().same(DataType.STRING) ? value : refuse(e);
  }

  /** From places that are literals, or the last so many code points; of a shorter text that is none. */
  private Expression substring(CallExpression e, DataType type) {
    List<RowExpression> of = e.getArguments();
    long start = whole(e, of.get(1));
    if (start < 0 && of.size() == 2) {
      Expression length = Expression.integer(-start, DataType.INT64);
      Expression holds = compare("ge", Expression.strict("char_length", DataType.INT64, text(e, 0)), length);
      return Expression.caseWhen(
          List.of(holds, Expression.strict("right", type, text(e, 0), length)), emptyUnlessNull(text(e, 0)));
    }
    boolean fits = start > 0 && (of.size() == 2 || whole(e, of.get(2)) >= 0);
    return fits ? Expression.strict("substring", type, all(of)) : refuse(e);
  }

  private static Expression emptyUnlessNull(Expression text) {
    return Expression.caseWhen(
        List.of(Expression.isNull(text), Expression.nullOf(DataType.STRING)), Expression.string(""));
  }

  private long whole(CallExpression e, RowExpression argument) {
    if (argument instanceof ConstantExpression c && c.getValue() instanceof Long value) {
      return value;
    }
    throw unknown(e);
  }

  /** The planner's way to say LIKE '%text%': there are two pieces of split(s, 'text', 2). */
  private Expression pieces(CallExpression e) {
    if (!(e.getArguments().get(0) instanceof CallExpression split)
        || !functions.name(split.getFunctionHandle()).equals("split") || split.getArguments().size() != 3
        || whole(split, split.getArguments().get(2)) != 2
        || !(split.getArguments().get(1) instanceof ConstantExpression separator)
        || !(separator.getValue() instanceof Slice text) || text.length() == 0) {
      throw unknown(e);
    }
    Expression contains = Expression.strict("contains", DataType.BOOL, text(split, 0), text(split, 1));
    return Expression.caseWhen(List.of(contains, Expression.integer(2, DataType.INT64), Expression.not(contains),
                                   Expression.integer(1, DataType.INT64)),
        Expression.nullOf(DataType.INT64));
  }

  private Expression like(CallExpression e, DataType type) {
    if (!(e.getArguments().get(1) instanceof CallExpression pattern)) {
      throw unknown(e);
    }
    boolean constant = pattern.getArguments().stream().allMatch(
        a -> a instanceof ConstantExpression c && !c.isNull() && c.getType() instanceof VarcharType);
    if (!constant) {
      throw new NotOffloaded(Code.EXPRESSION, "a pattern is offloaded if it is a literal: " + functions.text(e));
    }
    List<Expression> arguments = new ArrayList<>(List.of(text(e, 0)));
    arguments.addAll(List.of(all(pattern.getArguments())));
    return Expression.strict("like", type, arguments.toArray(Expression[] ::new));
  }

  /** The planner's way to say IN, beside {@link #lookup}. */
  private Expression contained(CallExpression e) {
    if (!(e.getArguments().get(0) instanceof ConstantExpression array) || array.isNull()) {
      throw unknown(e);
    }
    Type type = ((ArrayType) array.getType()).getElementType();
    Block elements = (Block) array.getValue();
    List<Expression> options = IntStream.range(0, elements.getPositionCount())
                                   .mapToObj(i -> Types.literal(TypeUtils.readNativeValue(type, elements, i), type))
                                   .toList();
    return Expression.in(translate(e.getArguments().get(1)), options);
  }

  /** The planner's way to say CASE of a value where all else is constant. */
  private Expression lookup(CallExpression e) {
    boolean known = e.getArguments().get(0) instanceof ConstantExpression constant && !constant.isNull()
        && constant.getType() instanceof MapType;
    if (!known) {
      throw unknown(e);
    }
    ConstantExpression map = (ConstantExpression) e.getArguments().get(0);
    MapType type = (MapType) map.getType();
    Block entries = (Block) map.getValue();
    Expression value = translate(e.getArguments().get(1));
    List<Expression> branches = new ArrayList<>();
    for (int i = 0; i < entries.getPositionCount(); i += 2) {
      Object key = TypeUtils.readNativeValue(type.getKeyType(), entries, i);
      branches.add(compare("eq", value, Types.literal(key, type.getKeyType())));
      Object found = TypeUtils.readNativeValue(type.getValueType(), entries, i + 1);
      branches.add(Types.literal(found, type.getValueType()));
    }
    return Expression.caseWhen(branches, Expression.nullOf(Types.jumpgate(type.getValueType())));
  }

  // ---- numbers

  private Expression sum(String function, CallExpression e, DataType type) {
    if (type.same(DataType.DATE)) {
      return moved(e, function.equals("add") ? 1 : -1);
    }
    Expression[] of = all(e.getArguments());
    if (type instanceof DataType.Decimal decimal) {
      return DecimalRules.sum(function, of[0], of[1], decimal);
    }
    return isNumber(type) ? Expression.fallible(function, type, of) : refuse(e);
  }

  private Expression product(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    if (type instanceof DataType.Decimal decimal) {
      return DecimalRules.product(of[0], of[1], decimal);
    }
    return isNumber(type) ? Expression.fallible("multiply", type, of) : refuse(e);
  }

  private Expression quotient(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    return switch (type.kind()) {
      case DECIMAL -> DecimalRules.quotient(of[0], of[1], (DataType.Decimal) type);
      case FLOAT64 -> Expression.fallible("divide", type, of);
      case INT8, INT16, INT32, INT64 -> inWords("int_divide", of, type);
      default -> throw unknown(e);
    };
  }

  private Expression rest(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    return switch (type.kind()) {
      case FLOAT64 -> Expression.fallible("modulo", type, of);
      case INT8, INT16, INT32, INT64 -> inWords("modulo", of, type);
      default -> throw unknown(e);
    };
  }

  private static Expression inWords(String function, Expression[] of, DataType type) {
    Expression[] words = {Types.cast(of[0], DataType.INT64), Types.cast(of[1], DataType.INT64)};
    return Types.cast(Expression.fallible(function, DataType.INT64, words), type);
  }

  private static boolean isNumber(DataType type) {
    return isWhole(type) || type.same(DataType.FLOAT32) || type.same(DataType.FLOAT64);
  }

  private static boolean isWhole(DataType type) {
    return switch (type.kind()) {
      case INT8, INT16, INT32, INT64 -> true;
      default -> false;
    };
  }

  private static boolean isFloat(DataType type) {
    return type.kind() == DataType.Kind.FLOAT32 || type.kind() == DataType.Kind.FLOAT64;
  }

  private Expression cast(CallExpression e, DataType to) {
    RowExpression input = e.getArguments().get(0);
    Expression value = translate(input);
    DataType from = value.type();
    boolean decimal = from instanceof DataType.Decimal;
    if (to.same(DataType.STRING)) {
      return toText(e, value, input.getType());
    }
    // a double holds 15 digits: one division, which rounds once
    boolean digitsFit = decimal && ((DataType.Decimal) from).precision() <= 15;
    boolean same = from.same(to) || isWhole(from) && (isNumber(to) || to instanceof DataType.Decimal)
        || decimal && (to instanceof DataType.Decimal || isWhole(to)) || digitsFit && to.same(DataType.FLOAT64)
        || isFloat(from) && isFloat(to) || from.same(DataType.BOOL) && isWhole(to);
    if (!same) {
      throw new NotOffloaded(Code.CAST,
          "casts from %s to %s are Presto's own: %s".formatted(
              input.getType().getDisplayName(), e.getType().getDisplayName(), functions.text(e)));
    }
    return Types.cast(value, to);
  }

  /** Text in a narrower type is cut. */
  private Expression toText(CallExpression e, Expression value, Type from) {
    VarcharType to = (VarcharType) e.getType();
    if (from instanceof VarcharType text) {
      boolean holds = to.isUnbounded() || !text.isUnbounded() && text.getLengthSafe() <= to.getLengthSafe();
      return holds ? value
                   : Expression.strict("substring", DataType.STRING, value, Expression.integer(1, DataType.INT64),
                         Expression.integer(to.getLengthSafe(), DataType.INT64));
    }
    boolean plain = to.isUnbounded() && (isWhole(value.type()) || value.type().same(DataType.DATE));
    if (!plain) {
      throw new NotOffloaded(Code.CAST,
          "casts from %s to %s are Presto's own: %s".formatted(
              from.getDisplayName(), to.getDisplayName(), functions.text(e)));
    }
    return Types.cast(value, DataType.STRING);
  }

  private Expression refuse(RowExpression e) {
    throw unknown(e);
  }

  private NotOffloaded unknown(RowExpression e) {
    return new NotOffloaded(Code.EXPRESSION, "Presto computes " + functions.text(e));
  }
}
