package io.jumpgate.presto.plan;

import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.function.OperatorType;
import com.facebook.presto.common.type.ArrayType;
import com.facebook.presto.common.type.MapType;
import com.facebook.presto.common.type.TimestampType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.TypeUtils;
import com.facebook.presto.common.type.VarcharType;
import com.facebook.presto.spi.relation.CallExpression;
import com.facebook.presto.spi.relation.ConstantExpression;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.SpecialFormExpression;
import com.facebook.presto.spi.relation.SpecialFormExpression.Form;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.airlift.slice.Slice;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.DecimalRules;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.dataflow.SqlFunctions;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlTranslator;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Presto's expressions as entries of a request: equal in every value and error, or not at all. */
final class ExpressionTranslator extends SqlTranslator<RowExpression> {
  private static final long DAY_MILLIS = 86_400_000;
  /** Of an array that one call makes. */
  private static final int PARTS_MAX = 256;

  private final Functions functions;
  private final SessionTime time;
  private final Function<VariableReferenceExpression, Expression> columns;

  ExpressionTranslator(Functions functions, Function<VariableReferenceExpression, Expression> columns) {
    super("Presto");
    this.functions = functions;
    this.time = SessionTime.of(functions.session());
    this.columns = columns;
  }

  /** Raises NotOffloaded. */
  @Override
  protected Expression passed(RowExpression e) {
    if (e instanceof VariableReferenceExpression variable) {
      return columns.apply(variable);
    }
    if (e instanceof SpecialFormExpression form && form.getForm() == Form.DEREFERENCE) {
      return field(form);
    }
    if (!Types.isNested(e.getType())) {
      return translate(e);
    }
    if (e instanceof SpecialFormExpression form && form.getForm() == Form.ROW_CONSTRUCTOR) {
      return ScalarFunction.STRUCT_OF.of(allPassed(form));
    }
    if (e instanceof ConstantExpression constant && !constant.isNull()
        && constant.getType() instanceof ArrayType array) {
      Block elements = (Block) constant.getValue();
      return isPart(elements.getPositionCount()) ? ScalarFunction.LIST_OF.of(literals(elements, array.getElementType()))
                                                 : refuse(e);
    }
    if (!(e instanceof CallExpression call)) {
      throw computed(e);
    }
    if (functions.operator(call.getFunctionHandle()).filter(OperatorType.SUBSCRIPT::equals).isPresent()) {
      return subscript(call);
    }
    return switch (called(e)) {
      case "array_constructor" ->
        isPart(call.getArguments().size()) ? ScalarFunction.LIST_OF.of(allPassed(call)) : refuse(e);
      default -> made(called(e), e);
    };
  }

  private Expression[] allPassed(RowExpression e) {
    return arguments(e).stream().map(this::passed).toArray(Expression[] ::new);
  }

  /** Whether one call makes an array of so many elements. */
  private static boolean isPart(int elements) {
    return elements > 0 && elements <= PARTS_MAX;
  }

  private Expression[] literals(Block elements, Type type) {
    return IntStream.range(0, elements.getPositionCount())
        .mapToObj(i -> literal(TypeUtils.readNativeValue(type, elements, i), type))
        .toArray(Expression[] ::new);
  }

  private NotOffloaded computed(RowExpression e) {
    return new NotOffloaded(Code.TYPE, "arrays, maps and rows are computed by Presto: " + e.getType().getDisplayName());
  }

  @Override
  protected boolean isEnglish() {
    return List.of(Locale.ENGLISH, Locale.US).contains(functions.session().getLocale());
  }

  @Override
  protected Expression failing(RowExpression call, Expression value) {
    return value;
  }

  @Override
  public Expression translate(RowExpression e) {
    DataType type = Types.jumpgate(e.getType());
    Expression value;
    if (e instanceof VariableReferenceExpression variable) {
      value = columns.apply(variable);
    } else if (e instanceof ConstantExpression constant) {
      value = literal(constant.getValue(), constant.getType());
    } else if (e instanceof SpecialFormExpression form) {
      value = form(form);
    } else if (e instanceof CallExpression call) {
      value = call(call, type);
    } else {
      throw unknown(e);
    }
    return checked(e, value, type, e.getType().getDisplayName());
  }

  @Override
  protected List<RowExpression> arguments(RowExpression call) {
    return call instanceof CallExpression e ? e.getArguments() : ((SpecialFormExpression) call).getArguments();
  }

  @Override
  protected OptionalLong number(RowExpression e) {
    return e instanceof ConstantExpression c && c.getValue() instanceof Long value ? OptionalLong.of(value)
                                                                                   : OptionalLong.empty();
  }

  @Override
  protected Optional<String> words(RowExpression e) {
    return e instanceof ConstantExpression c && c.getValue() instanceof Slice text ? Optional.of(text.toStringUtf8())
                                                                                   : Optional.empty();
  }

  @Override
  protected String text(RowExpression e) {
    return functions.text(e);
  }

  private Expression literal(Object value, Type type) {
    boolean moment = value instanceof Long && type.equals(TimestampType.TIMESTAMP);
    return moment ? time.literal((Long) value) : Types.literal(value, type);
  }

  // ---- choices

  private Expression form(SpecialFormExpression e) {
    List<RowExpression> of = e.getArguments();
    return switch (e.getForm()) {
      case AND -> ScalarFunction.AND.of(all(of));
      case OR -> ScalarFunction.OR.of(all(of));
      case IS_NULL -> ScalarFunction.IS_NULL.of(passed(of.get(0)));
      case DEREFERENCE -> field(e);
      case COALESCE -> ScalarFunction.COALESCE.of(all(of));
      case IF -> Expression.caseWhen(List.of(translate(of.get(0)), translate(of.get(1))), translate(of.get(2)));
      case SWITCH -> choice(of);
      case NULL_IF -> nullIf(e);
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
      branches.add(searched ? condition : compare(ScalarFunction.EQ, translate(of.get(0)), condition));
      branches.add(translate(when.get(1)));
    }
    return Expression.caseWhen(branches, translate(of.get(of.size() - 1)));
  }

  private Expression member(List<RowExpression> of) {
    Expression value = translate(of.get(0));
    List<RowExpression> options = of.subList(1, of.size());
    if (options.stream().allMatch(ConstantExpression.class ::isInstance)) {
      return Expression.in(value, List.of(all(options)));
    }
    return ScalarFunction.OR.of(options.stream()
            .map(option -> compare(ScalarFunction.EQ, value, translate(option)))
            .toArray(Expression[] ::new));
  }

  // ---- calls

  private Expression call(CallExpression e, DataType type) {
    if (!functions.isDeterministic(e.getFunctionHandle())) {
      throw new NotOffloaded(Code.NONDETERMINISTIC, functions.text(e) + " may give another value each time");
    }
    return functions.operator(e.getFunctionHandle())
        .map(operator -> operator(e, operator, type))
        .orElseGet(() -> named(e, functions.name(e.getFunctionHandle())));
  }

  private Expression operator(CallExpression e, OperatorType operator, DataType type) {
    List<RowExpression> of = e.getArguments();
    return switch (operator) {
      case EQUAL -> compare(ScalarFunction.EQ, e);
      case NOT_EQUAL -> compare(ScalarFunction.NE, e);
      case LESS_THAN -> compare(ScalarFunction.LT, e);
      case LESS_THAN_OR_EQUAL -> compare(ScalarFunction.LE, e);
      case GREATER_THAN -> compare(ScalarFunction.GT, e);
      case GREATER_THAN_OR_EQUAL -> compare(ScalarFunction.GE, e);
      case BETWEEN ->
        ScalarFunction.AND.of(compare(ScalarFunction.GE, translate(of.get(0)), translate(of.get(1))),
            compare(ScalarFunction.LE, translate(of.get(0)), translate(of.get(2))));
      case ADD -> sum(ScalarFunction.ADD, e, type);
      case SUBTRACT -> sum(ScalarFunction.SUBTRACT, e, type);
      case MULTIPLY -> product(e, type);
      case DIVIDE -> quotient(e, type);
      case MODULUS -> rest(e, type);
      case NEGATION -> ScalarFunction.NEGATE.of(translate(of.get(0)));
      case CAST -> cast(e, type);
      case SUBSCRIPT -> subscript(e);
      default -> throw unknown(e);
    };
  }

  private Expression named(CallExpression e, String name) {
    return switch (name) {
      case "not" -> ScalarFunction.NOT.of(argument(e, 0));
      case "like" -> like(e);
      case "cardinality" -> called(of(e, 0)).equals("split") ? pieces(e) : cardinality(e);
      case "element_at" -> of(e, 0) instanceof ConstantExpression ? lookup(e) : elementAt(e);
      case "contains" -> of(e, 0) instanceof ConstantExpression array ? contained(e, array) : contains(e);
      case "date_trunc" -> truncated(e);
      case "abs" -> ScalarFunction.ABS.of(argument(e, 0));
      case "replace" -> replaced(e);
      case "regexp_like" -> matched(e, pattern(e));
      case "regexp_extract" -> arguments(e).size() == 2 ? extracted(e, pattern(e)) : refuse(e);
      case "regexp_replace" -> replacedMatches(e, pattern(e), arguments(e).size() == 2 ? "" : literal(e, 2));
      case "mod" -> rest(e, Types.jumpgate(e.getType()));
      case "date_add" -> known(e, SqlFunctions.later(timed(e, 2), unit(e), whole(e, 1)));
      case "date_diff" ->
        of(e, 1).getType().equals(TimestampType.TIMESTAMP) && !time.isPlain() ? refuseZone(e)
                                                                              : known(e, shared(name, e));
      case "from_unixtime" -> ofEpoch(e);
      case "to_unixtime" -> toEpoch(e);
      default -> known(e, shared(name, e));
    };
  }

  @Override
  protected String called(RowExpression e) {
    return e instanceof CallExpression call ? functions.name(call.getFunctionHandle()) : "";
  }

  // ---- dates

  /** A date, or a timestamp of a session whose clock is never changed. */
  private Expression timed(CallExpression e, int argument) {
    if (!of(e, argument).getType().equals(TimestampType.TIMESTAMP)) {
      return argument(e, argument, DataType.DATE);
    }
    return time.isPlain() ? argument(e, argument, DataType.TIMESTAMP) : refuseZone(e);
  }

  private <T> T refuseZone(CallExpression e) {
    throw new NotOffloaded(Code.DIALECT, "Presto counts by the clock of the session's zone: " + functions.text(e));
  }

  /** Of whole seconds, which the planner casts to double. */
  private Expression ofEpoch(CallExpression e) {
    boolean whole = e.getArguments().size() == 1 && of(e, 0) instanceof CallExpression cast
        && functions.operator(cast.getFunctionHandle()).filter(OperatorType.CAST::equals).isPresent()
        && Types.jumpgate(of(cast, 0).getType()).isWhole();
    if (!whole) {
      throw unknown(e);
    }
    if (!time.isUtc()) {
      return refuseZone(e);
    }
    Expression seconds = argument((CallExpression) of(e, 0), 0).as(DataType.INT64);
    Expression millis = ScalarFunction.MULTIPLY.of(seconds, Expression.integer(1000, DataType.INT64));
    return SqlFunctions.later(Expression.moment(0, DataType.TIMESTAMP), millis);
  }

  private Expression toEpoch(CallExpression e) {
    if (!time.isUtc()) {
      return refuseZone(e);
    }
    Expression millis = SqlFunctions.millis(argument(e, 0, DataType.TIMESTAMP)).as(DataType.FLOAT64);
    return ScalarFunction.DIVIDE.of(millis, Expression.floating(1000, DataType.FLOAT64));
  }

  /** Where a clock skips times, the start of a minute or of more may be none that it shows. */
  private Expression truncated(CallExpression e) {
    boolean whole = List.of("millisecond", "second").contains(unit(e));
    if (!time.isPlain() && !whole && of(e, 1).getType().equals(TimestampType.TIMESTAMP)) {
      throw new NotOffloaded(Code.DIALECT, "Presto truncates by the clock of the session's zone: " + functions.text(e));
    }
    return known(e, shared("date_trunc", e));
  }

  /** The second argument, which the planner shows as a pattern made of a text. */
  private String pattern(CallExpression e) {
    boolean compiled = of(e, 1) instanceof CallExpression pattern && pattern.getArguments().size() == 1;
    return compiled ? literal(of(e, 1), 0) : refuse(e);
  }

  /** Of some text: what Presto does with no text is its own. */
  private Expression replaced(CallExpression e) {
    Expression by = e.getArguments().size() == 2 ? Expression.string("") : argument(e, 2, DataType.STRING);
    return literal(e, 1).isEmpty()
        ? refuse(e)
        : ScalarFunction.REPLACE.of(argument(e, 0, DataType.STRING), argument(e, 1, DataType.STRING), by);
  }

  /** A date and an interval of whole days, or of months. */
  private Expression moved(CallExpression e, int sign) {
    List<RowExpression> of = e.getArguments();
    int at = of.get(0).getType().getTypeSignature().getBase().startsWith("interval ") ? 1 : 0;
    String interval = of.get(1 - at).getType().getTypeSignature().getBase();
    if (!interval.startsWith("interval ")) {
      throw unknown(e);
    }
    long number = sign * whole(e, 1 - at);
    if (of.get(at).getType().equals(TimestampType.TIMESTAMP)) {
      Expression timestamp = timed(e, at);
      return interval.equals("interval year to month")
          ? SqlFunctions.later(timestamp, number, 0)
          : SqlFunctions.later(timestamp, Expression.integer(number, DataType.INT64));
    }
    if (interval.equals("interval year to month")) {
      return SqlFunctions.later(argument(e, at, DataType.DATE), number, 0);
    }
    return number % DAY_MILLIS == 0 ? SqlFunctions.later(argument(e, at, DataType.DATE), 0, number / DAY_MILLIS)
                                    : refuse(e);
  }

  /** The planner's way to say LIKE '%text%': there are two pieces of split(s, 'text', 2). */
  private Expression pieces(CallExpression e) {
    CallExpression split = (CallExpression) e.getArguments().get(0);
    if (split.getArguments().size() != 3 || whole(split, 2) != 2
        || !(split.getArguments().get(1) instanceof ConstantExpression separator)
        || !(separator.getValue() instanceof Slice text) || text.length() == 0) {
      throw unknown(e);
    }
    Expression contains =
        ScalarFunction.CONTAINS.of(argument(split, 0, DataType.STRING), argument(split, 1, DataType.STRING));
    return Expression.caseWhen(List.of(contains, Expression.integer(2, DataType.INT64), ScalarFunction.NOT.of(contains),
                                   Expression.integer(1, DataType.INT64)),
        Expression.nullOf(DataType.INT64));
  }

  private Expression like(CallExpression e) {
    if (!(e.getArguments().get(1) instanceof CallExpression pattern)) {
      throw unknown(e);
    }
    boolean constant = pattern.getArguments().stream().allMatch(
        a -> a instanceof ConstantExpression c && !c.isNull() && c.getType() instanceof VarcharType);
    if (!constant) {
      throw unknownPattern(e);
    }
    List<Expression> arguments = new ArrayList<>(List.of(argument(e, 0, DataType.STRING)));
    arguments.addAll(List.of(all(pattern.getArguments())));
    return ScalarFunction.LIKE.of(arguments.toArray(Expression[] ::new));
  }

  /** The planner's way to say IN, beside {@link #lookup}. */
  private Expression contained(CallExpression e, ConstantExpression array) {
    if (array.isNull()) {
      throw unknown(e);
    }
    Type type = ((ArrayType) array.getType()).getElementType();
    return Expression.in(translate(e.getArguments().get(1)), List.of(literals((Block) array.getValue(), type)));
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
      branches.add(compare(ScalarFunction.EQ, value, literal(key, type.getKeyType())));
      Object found = TypeUtils.readNativeValue(type.getValueType(), entries, i + 1);
      branches.add(literal(found, type.getValueType()));
    }
    return Expression.caseWhen(branches, Expression.nullOf(Types.jumpgate(type.getValueType())));
  }

  // ---- arrays, maps and rows

  private Expression field(SpecialFormExpression e) {
    long index = number(e.getArguments().get(1)).orElseThrow(() -> unknown(e));
    return Expression.member(passed(e.getArguments().get(0)), Math.toIntExact(index));
  }

  private Expression cardinality(CallExpression e) {
    return Types.isNested(of(e, 0).getType()) ? ScalarFunction.CARDINALITY.of(passed(of(e, 0))) : refuse(e);
  }

  private Expression contains(CallExpression e) {
    return contains(e, passed(of(e, 0)));
  }

  // ---- numbers

  private Expression sum(ScalarFunction function, CallExpression e, DataType type) {
    if (type.same(DataType.DATE) || type.same(DataType.TIMESTAMP)) {
      return moved(e, function == ScalarFunction.ADD ? 1 : -1);
    }
    Expression[] of = all(e.getArguments());
    if (type instanceof DataType.Decimal decimal) {
      return DecimalRules.sum(function, of[0], of[1], decimal);
    }
    return isNumber(type) ? function.of(of) : refuse(e);
  }

  private Expression product(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    if (type instanceof DataType.Decimal decimal) {
      return DecimalRules.product(of[0], of[1], decimal);
    }
    return isNumber(type) ? ScalarFunction.MULTIPLY.of(of) : refuse(e);
  }

  private Expression quotient(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    return switch (type.kind()) {
      case DECIMAL -> DecimalRules.quotient(of[0], of[1], (DataType.Decimal) type);
      case FLOAT64 -> ScalarFunction.DIVIDE.of(of);
      case INT8, INT16, INT32, INT64 -> inWords(ScalarFunction.INT_DIVIDE, of, type);
      default -> throw unknown(e);
    };
  }

  private Expression rest(CallExpression e, DataType type) {
    Expression[] of = all(e.getArguments());
    return switch (type.kind()) {
      case FLOAT64 -> ScalarFunction.MODULO.of(of);
      case INT8, INT16, INT32, INT64 -> inWords(ScalarFunction.MODULO, of, type);
      default -> throw unknown(e);
    };
  }

  private static boolean isNumber(DataType type) {
    return type.isWhole() || type.isFloat();
  }

  private Expression cast(CallExpression e, DataType to) {
    RowExpression input = e.getArguments().get(0);
    Expression value = translate(input);
    DataType from = value.type();
    boolean decimal = from instanceof DataType.Decimal;
    if (to.same(DataType.STRING)) {
      VarcharType text = (VarcharType) e.getType();
      return toText(e, value, input.getType() instanceof VarcharType, length(input.getType()), length(text),
          input.getType().getDisplayName(), text.getDisplayName());
    }
    // a double holds 15 digits: one division, which rounds once
    boolean digitsFit = decimal && ((DataType.Decimal) from).precision() <= 15;
    boolean same = from.same(to) || from.isWhole() && (isNumber(to) || to instanceof DataType.Decimal)
        || decimal && (to instanceof DataType.Decimal || to.isWhole()) || digitsFit && to.same(DataType.FLOAT64)
        || from.isFloat() && to.isFloat() || from.same(DataType.BOOL) && to.isWhole()
        || from.same(DataType.TIMESTAMP) && to.same(DataType.DATE);
    if (!same) {
      throw unknownCast(e, input.getType().getDisplayName(), e.getType().getDisplayName());
    }
    return value.as(to);
  }

  private static OptionalInt length(Type type) {
    return type instanceof VarcharType text && !text.isUnbounded() ? OptionalInt.of(text.getLengthSafe())
                                                                   : OptionalInt.empty();
  }
}
