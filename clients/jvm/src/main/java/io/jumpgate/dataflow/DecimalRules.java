package io.jumpgate.dataflow;

/** Sums and products of decimals in the types that SQL engines give them: exact, or an overflow. */
public final class DecimalRules {
  private static final int DIGITS_MAX = DataType.Decimal.DIGITS_MAX;

  private DecimalRules() {}

  /** {@code add} or {@code subtract}; the result has the larger scale. */
  public static Expression sum(ScalarFunction function, Expression left, Expression right, DataType.Decimal result) {
    DataType.Decimal wide = common(left.type(), right.type());
    return function.of(left.as(wide), right.as(wide)).as(result);
  }

  /** The result has the scales' sum, which is 38 at most. */
  public static Expression product(Expression left, Expression right, DataType.Decimal result) {
    return ScalarFunction.MULTIPLY.of(left, right).as(result);
  }

  /** To the result's digits, rounded once, halves away from zero. */
  public static Expression quotient(Expression left, Expression right, DataType.Decimal result) {
    return ScalarFunction.DIVIDE_DECIMAL.of(left, right, Expression.integer(result.precision(), DataType.INT32),
        Expression.integer(result.scale(), DataType.INT32));
  }

  /** A type that holds both: what it lacks beyond 38 digits overflows. */
  public static DataType.Decimal common(DataType left, DataType right) {
    DataType.Decimal a = (DataType.Decimal) left;
    DataType.Decimal b = (DataType.Decimal) right;
    int scale = Math.max(a.scale(), b.scale());
    int digits = Math.max(a.precision() - a.scale(), b.precision() - b.scale()) + scale;
    return new DataType.Decimal(Math.min(digits, DIGITS_MAX), scale, true);
  }
}
