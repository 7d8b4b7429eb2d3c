package io.jumpgate.dataflow;

/** Sums and products of decimals in the types that SQL engines give them: exact, or an overflow. */
public final class DecimalRules {
  private static final int DIGITS_MAX = 38;

  private DecimalRules() {}

  /** {@code add} or {@code subtract}; the result has the larger scale. */
  public static Expression sum(String function, Expression left, Expression right, DataType.Decimal result) {
    DataType.Decimal wide = common(left.type(), right.type());
    DataType exact = DataType.decimal(Math.min(wide.precision() + 1, DIGITS_MAX), wide.scale());
    return as(Expression.fallible(function, exact, as(left, wide), as(right, wide)), result);
  }

  /** The result has the scales' sum, which is 38 at most. */
  public static Expression product(Expression left, Expression right, DataType.Decimal result) {
    DataType.Decimal a = (DataType.Decimal) left.type();
    DataType.Decimal b = (DataType.Decimal) right.type();
    DataType exact = DataType.decimal(Math.min(a.precision() + b.precision(), DIGITS_MAX), a.scale() + b.scale());
    return as(Expression.fallible("multiply", exact, left, right), result);
  }

  /** To the result's digits, rounded once, halves away from zero. */
  public static Expression quotient(Expression left, Expression right, DataType.Decimal result) {
    return Expression.fallible("divide_decimal", result, left, right,
        Expression.integer(result.precision(), DataType.INT32), Expression.integer(result.scale(), DataType.INT32));
  }

  /** A type that holds both: what it lacks beyond 38 digits overflows. */
  public static DataType.Decimal common(DataType left, DataType right) {
    DataType.Decimal a = (DataType.Decimal) left;
    DataType.Decimal b = (DataType.Decimal) right;
    int scale = Math.max(a.scale(), b.scale());
    int digits = Math.max(a.precision() - a.scale(), b.precision() - b.scale()) + scale;
    return new DataType.Decimal(Math.min(digits, DIGITS_MAX), scale, true);
  }

  private static Expression as(Expression value, DataType type) {
    return value.type().same(type) ? value : Expression.cast(value, type);
  }
}
