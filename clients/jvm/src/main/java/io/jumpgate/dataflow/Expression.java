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
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A typed expression over an operator's input, immutable. One that is used twice is written once. The service computes
 * every type, nullability included, anew and refuses a request that declares another. {@link ScalarFunction} makes
 * calls.
 */
public final class Expression {
  private final DataType type;
  private final List<Expression> parts;
  private final BiConsumer<io.jumpgate.v1.Expression.Builder, List<Integer>> writer;

  private final Optional<Object> parameter;

  private Expression(
      DataType type, List<Expression> parts, BiConsumer<io.jumpgate.v1.Expression.Builder, List<Integer>> writer) {
    this(type, parts, writer, Optional.empty());
  }

  private Expression(DataType type, List<Expression> parts,
      BiConsumer<io.jumpgate.v1.Expression.Builder, List<Integer>> writer, Optional<Object> parameter) {
    this.type = type;
    this.parts = List.copyOf(parts);
    this.writer = writer;
    this.parameter = parameter;
  }

  public DataType type() {
    return type;
  }

  /** What it is made of, in order. */
  public List<Expression> parts() {
    return parts;
  }

  /** The key of a parameter; empty: this is none. */
  Optional<Object> parameter() {
    return parameter;
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

  /**
   * A literal that is known when the request is written ({@link Operator#request(Dialect, Function)}), by a key of the
   * caller's; NULL in a request that knows no values.
   */
  public static Expression parameter(Object key, DataType type) {
    return new Expression(type.withNullable(true), List.of(),
        (out, at) -> out.setLiteral(Literal.getDefaultInstance()), Optional.of(key));
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

  // calls and choices

  /** A call; {@link ScalarFunction} knows its type. */
  static Expression call(String function, DataType type, List<Expression> arguments) {
    return new Expression(
        type, arguments, (out, at) -> out.setCall(Call.newBuilder().setFunction(function).addAllArguments(at)));
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

  /** This as {@code target}, but for its nullability. */
  public Expression as(DataType target) {
    return type.same(target) ? this : cast(this, target);
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
