package io.jumpgate.dataflow;

import com.google.protobuf.ByteString;
import io.jumpgate.v1.Expression.Call;
import io.jumpgate.v1.Expression.Case;
import io.jumpgate.v1.Expression.Cast;
import io.jumpgate.v1.Expression.Column;
import io.jumpgate.v1.Expression.In;
import io.jumpgate.v1.Expression.Member;
import io.jumpgate.v1.Literal;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A typed expression over an operator's input, immutable. One that is used twice is written once. The service computes
 * every type, nullability included, anew and refuses a request that declares another: what is known here is set here,
 * and the type of a {@link #call} is what docs/functions.md says.
 */
public final class Expression {
  private final DataType type;
  private final List<Expression> parts;
  private final BiConsumer<io.jumpgate.v1.Expression.Builder, List<Integer>> writer;

  private Expression(
      DataType type, List<Expression> parts, BiConsumer<io.jumpgate.v1.Expression.Builder, List<Integer>> writer) {
    this.type = type;
    this.parts = List.copyOf(parts);
    this.writer = writer;
  }

  public DataType type() {
    return type;
  }

  /** What it is made of, in order. */
  public List<Expression> parts() {
    return parts;
  }

  /** The entry of a request's table; {@code at}: where the parts are in it. */
  io.jumpgate.v1.Expression toProto(List<Integer> at) {
    io.jumpgate.v1.Expression.Builder out = io.jumpgate.v1.Expression.newBuilder().setType(type.toProto());
    writer.accept(out, at);
    return out.build();
  }

  // columns and literals

  /**
   * Column {@code index} of an input with that schema; a join's residual sees the left columns, then the right ones.
   */
  public static Expression column(int index, List<Field> schema) {
    return column(index, schema.get(index));
  }

  static Expression column(int index, Field field) {
    return new Expression(
        field.type(), List.of(), (out, at) -> out.setColumn(Column.newBuilder().setIndex(index).setName(field.name())));
  }

  public static Expression nullOf(DataType type) {
    return literal(type.withNullable(true), Literal.getDefaultInstance());
  }

  public static Expression bool(boolean value) {
    return literal(DataType.BOOL.withNullable(false), Literal.newBuilder().setBoolean(value).build());
  }

  /** Of an integer type, duration, or a timestamp in nanoseconds. */
  public static Expression integer(long value, DataType type) {
    return literal(type.withNullable(false), Literal.newBuilder().setInteger(value).build());
  }

  /** float32 or float64. */
  public static Expression floating(double value, DataType type) {
    return literal(type.withNullable(false), Literal.newBuilder().setFloating(value).build());
  }

  /** Raises ArithmeticException for a value that the scale would cut. */
  public static Expression decimal(BigDecimal value, int precision, int scale) {
    String digits = value.setScale(scale, RoundingMode.UNNECESSARY).toPlainString();
    return literal(new DataType.Decimal(precision, scale, false), Literal.newBuilder().setDecimal(digits).build());
  }

  /** Days since 1970-01-01. */
  public static Expression date(int days) {
    return literal(DataType.DATE.withNullable(false), Literal.newBuilder().setDays(days).build());
  }

  /** Microseconds: of the day for time, else since 1970-01-01 00:00:00, in UTC if the type has a zone. */
  public static Expression moment(long microseconds, DataType type) {
    return literal(type.withNullable(false), Literal.newBuilder().setMicroseconds(microseconds).build());
  }

  public static Expression string(String value) {
    return literal(DataType.STRING.withNullable(false), Literal.newBuilder().setText(value).build());
  }

  public static Expression binary(byte[] value) {
    return literal(
        DataType.BINARY.withNullable(false), Literal.newBuilder().setData(ByteString.copyFrom(value)).build());
  }

  private static Expression literal(DataType type, Literal value) {
    return new Expression(type, List.of(), (out, at) -> out.setLiteral(value));
  }

  // calls

  /** A function of docs/functions.md, its arguments cast to what it takes. */
  public static Expression call(String function, DataType type, Expression... arguments) {
    return new Expression(type, Arrays.asList(arguments),
        (out, at) -> out.setCall(Call.newBuilder().setFunction(function).addAllArguments(at)));
  }

  /** Such a call that is NULL if and only if an argument may be. */
  public static Expression strict(String function, DataType type, Expression... arguments) {
    return call(function, type.withNullable(anyNullable(Arrays.stream(arguments))), arguments);
  }

  /** A function that can overflow or divide by zero: NULL may always come out. */
  public static Expression fallible(String function, DataType type, Expression... arguments) {
    return call(function, type.withNullable(true), arguments);
  }

  /** A function whose value is NULL only if all arguments are, which are of one type: coalesce. */
  public static Expression any(String function, Expression... arguments) {
    boolean nullable = Arrays.stream(arguments).allMatch(e -> e.type.nullable());
    return arguments.length == 1 ? arguments[0] : call(function, arguments[0].type.withNullable(nullable), arguments);
  }

  /** eq, ne, lt, le, gt or ge of operands of one type. */
  public static Expression compare(String function, Expression left, Expression right) {
    return strict(function, DataType.BOOL, left, right);
  }

  public static Expression and(Expression... terms) {
    return strict("and", DataType.BOOL, terms);
  }

  public static Expression or(Expression... terms) {
    return strict("or", DataType.BOOL, terms);
  }

  public static Expression not(Expression term) {
    return strict("not", DataType.BOOL, term);
  }

  public static Expression isNull(Expression value) {
    return call("is_null", DataType.BOOL.withNullable(false), value);
  }

  public static Expression isNotNull(Expression value) {
    return call("is_not_null", DataType.BOOL.withNullable(false), value);
  }

  /** SQL's CASE: condition, value, condition, value …, and what is otherwise; values are of one type. */
  public static Expression caseWhen(List<Expression> branches, Expression otherwise) {
    List<Expression> parts = Stream.concat(branches.stream(), Stream.of(otherwise)).toList();
    boolean nullable = IntStream.range(0, parts.size())
                           .anyMatch(i -> (i % 2 == 1 || i == branches.size()) && parts.get(i).type.nullable());
    return new Expression(otherwise.type.withNullable(nullable), parts,
        (out, at)
            -> out.setCase(
                Case.newBuilder().addAllBranches(at.subList(0, at.size() - 1)).setOtherwise(at.get(at.size() - 1))));
  }

  /** SQL's IN; {@code options} are literals of the input's type. */
  public static Expression in(Expression input, List<Expression> options) {
    boolean nullable = input.type.nullable() && !options.isEmpty() || anyNullable(options.stream());
    List<Literal> literals = options.stream().map(option -> option.toProto(List.of()).getLiteral()).toList();
    return new Expression(DataType.BOOL.withNullable(nullable), List.of(input),
        (out, at) -> out.setIn(In.newBuilder().setInput(at.get(0)).addAllOptions(literals)));
  }

  /** Field {@code index} of a struct; NULL where the struct is. */
  public static Expression member(Expression input, int index) {
    DataType.Nested struct = (DataType.Nested) input.type;
    return new Expression(struct.parts().get(index).type(), List.of(input),
        (out, at) -> out.setMember(Member.newBuilder().setInput(at.get(0)).setIndex(index)));
  }

  /** A cast that fails the job where it fails. */
  public static Expression cast(Expression input, DataType target) {
    return cast(input, target.withNullable(input.type.nullable()), false);
  }

  /** SQL's TRY_CAST: NULL where it fails. */
  public static Expression tryCast(Expression input, DataType target) {
    boolean nullable = input.type.nullable() || !Casts.cannotFail(input.type, target);
    return cast(input, target.withNullable(nullable), true);
  }

  private static Expression cast(Expression input, DataType target, boolean nullOnFailure) {
    return new Expression(target, List.of(input),
        (out, at) -> out.setCast(Cast.newBuilder().setInput(at.get(0)).setNullOnFailure(nullOnFailure)));
  }

  private static boolean anyNullable(Stream<Expression> expressions) {
    return expressions.anyMatch(e -> e.type.nullable());
  }

  /** Where an expression sorts: NULL before or after all values. */
  public record SortKey(Expression expression, boolean descending, boolean nullsFirst) {}
}
