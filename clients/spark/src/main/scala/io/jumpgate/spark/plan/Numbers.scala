package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Functions of numbers, and of what is missing. */
private final class Numbers(in: Expression => Value) {
  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] = Option(expression match {
    case BRound(x, Literal(digits: Int, _), _) if digits >= 0 => toEven(x, digits, Values.typeOf(expression.dataType))
    case e: Floor => whole(ScalarFunction.FLOOR, e)
    case e: Ceil => whole(ScalarFunction.CEIL, e)
    case Sqrt(x) => ScalarFunction.SQRT.of(in(x))
    case BitwiseNot(x) => ScalarFunction.BIT_XOR.of(in(x), Request.integer(-1, Values.typeOf(x.dataType)))
    case ShiftLeft(x, by) => ScalarFunction.SHIFT_LEFT.of(in(x), Values.cast(in(by), Values.typeOf(x.dataType)))
    case e: Pmod if e.dataType == IntegerType || e.dataType == LongType => positiveRest(in(e.left), in(e.right), e.dataType)
    case NaNvl(x, other) => Values.caseWhen(Seq((ScalarFunction.IS_NAN.of(in(x)), in(other))), in(x))
    case AtLeastNNonNulls(n, of) => atLeast(n, of.map(isPresent))
    case _ => null
  })

  /** Java takes NaN for 0, and what is beyond the integers for the last one; here they fail. */
  private def whole(function: ScalarFunction, e: UnaryExpression): Value = e.child.dataType match {
    case LongType => in(e.child)
    case DoubleType | _: DecimalType => Values.cast(function.of(in(e.child)), Values.typeOf(e.dataType))
    case _ => null
  }

  /** Of a decimal: away from zero, and back to an even digit where two were equally near. */
  private def toEven(x: Expression, digits: Int, result: JumpgateType): Value = (x.dataType, result) match {
    case (d: DecimalType, _) if digits >= d.scale => Values.cast(in(x), result)
    case (d: DecimalType, r: JumpgateType.Decimal) if d.precision <= DecimalType.MAX_PRECISION - 2 =>
      val wide = JumpgateType.decimal(d.precision + 1, d.scale)
      def decimal(number: Int, scale: Int, of: JumpgateType.Decimal) =
        Request.decimal(java.math.BigDecimal.valueOf(number.toLong, scale).setScale(of.scale), of.precision, of.scale)
      val rounded = Values.cast(ScalarFunction.ROUND.of(in(x), Values.integer(digits)), result)
      val moved = ScalarFunction.ABS.of(ScalarFunction.SUBTRACT.of(Values.cast(rounded, wide), Values.cast(in(x), wide)))
      val half = decimal(5, digits + 1, moved.dataType.asInstanceOf[JumpgateType.Decimal])
      val lastDigit = ScalarFunction.MODULO.of(rounded, decimal(2, digits, r))
      val isOdd = ScalarFunction.NE.of(lastDigit, decimal(0, digits, r))
      def back(function: ScalarFunction) = Values.cast(function.of(rounded, decimal(1, digits, r)), result)
      val isNegative = ScalarFunction.LT.of(rounded, decimal(0, digits, r))
      val even = Values.caseWhen(Seq((isNegative, back(ScalarFunction.ADD))), back(ScalarFunction.SUBTRACT))
      Values.caseWhen(Seq((Values.and(Seq(ScalarFunction.EQ.of(moved, half), isOdd)), even)), rounded)
    case _ => null
  }

  private def positiveRest(a: Value, b: Value, dataType: DataType): Value = {
    val rest = ScalarFunction.MODULO.of(a, b)
    val isNegative = ScalarFunction.LT.of(rest, Request.integer(0, Values.typeOf(dataType)))
    Values.caseWhen(Seq((isNegative, ScalarFunction.MODULO.of(ScalarFunction.ADD.of(rest, b), b))), rest)
  }

  /** Neither NULL nor NaN. */
  private def isPresent(e: Expression): Value = {
    val isNotNull = ScalarFunction.IS_NOT_NULL.of(in(e))
    e.dataType match {
      case FloatType | DoubleType => ScalarFunction.AND.of(isNotNull, ScalarFunction.NOT.of(ScalarFunction.IS_NAN.of(in(e))))
      case _ => isNotNull
    }
  }

  private def atLeast(n: Int, terms: Seq[Value]): Value =
    if (n == terms.size) Values.and(terms)
    else {
      val counted = terms.map(term => Values.caseWhen(Seq((term, Values.long(1))), Values.long(0)))
      val count = counted.foldLeft(Values.long(0))((a, b) => ScalarFunction.ADD.of(a, b))
      ScalarFunction.COALESCE.of(ScalarFunction.GE.of(count, Values.long(n.toLong)), Request.bool(false))
    }
}
