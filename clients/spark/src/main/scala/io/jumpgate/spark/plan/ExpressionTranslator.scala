package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}
import io.jumpgate.explain.Code
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/**
 * Expressions of Catalyst as entries of a request: equal in every value, or not at all. What fails in Spark under ANSI, or wraps or
 * becomes NULL without it, fails in Jumpgate, and Spark computes it.
 */
object ExpressionTranslator {
  val Whole = Set[DataType](ByteType, ShortType, IntegerType, LongType)
  /** Java's text of a double has the fewest digits below this number, up to this scale. */
  private val SureBelow = 9007199254740992.0
  private val SureScale = 18

  /** A value that is computed with: none of a struct, array or map. */
  def apply(expression: Expression, scope: Scope): Value = {
    val value = passed(expression, scope)
    if (Values.isNested(expression.dataType))
      NotOffloaded(Code.TYPE, s"values of ${expression.dataType.simpleString} are passed on, not computed with: ${expression.sql}")
    value
  }

  /** A value that is passed on, also of a struct, array or map that a column has. */
  def passed(expression: Expression, scope: Scope): Value = expression match {
    case a: Attribute => scope(a)
    case Alias(child, _) => passed(child, scope)
    case g: GetStructField if !isConstant(g) => Request.member(passed(g.child, scope), g.ordinal)
    case e => plain(e, scope)
  }

  private def plain(expression: Expression, scope: Scope): Value = {
    def in(e: Expression): Value = apply(e, scope)

    expression match {
      case e if isConstant(e) => constant(e)
      case e: And => Values.and(conjuncts(e).map(in))
      case e: Or => Values.or(disjuncts(e).map(in))
      case Not(EqualTo(a, b)) => comparison(ScalarFunction.NE, in(a), in(b))
      case Not(EqualNullSafe(a, b)) =>
        val (x, y) = Values.common(in(a), in(b))
        ScalarFunction.IS_DISTINCT.of(x, y)
      case e: Not => ScalarFunction.NOT.of(in(e.child))
      case EqualTo(a, b) => comparison(ScalarFunction.EQ, in(a), in(b))
      case LessThan(a, b) => comparison(ScalarFunction.LT, in(a), in(b))
      case LessThanOrEqual(a, b) => comparison(ScalarFunction.LE, in(a), in(b))
      case GreaterThan(a, b) => comparison(ScalarFunction.GT, in(a), in(b))
      case GreaterThanOrEqual(a, b) => comparison(ScalarFunction.GE, in(a), in(b))
      case EqualNullSafe(a, b) =>
        val (x, y) = Values.common(in(a), in(b))
        ScalarFunction.IS_NOT_DISTINCT.of(x, y)
      case e: IsNull => ScalarFunction.IS_NULL.of(passed(e.child, scope))
      case e: IsNotNull => ScalarFunction.IS_NOT_NULL.of(passed(e.child, scope))
      case e: IsNaN =>
        val isNaN = ScalarFunction.IS_NAN.of(in(e.child))
        ScalarFunction.COALESCE.of(isNaN, Request.bool(false))
      case e: In if e.list.forall(isConstant) => inList(in(e.value), e.value.dataType, e.list.map(value))
      case e: InSet => inList(in(e.child), e.child.dataType, e.hset.toSeq)
      case e: If => Values.caseWhen(Seq((in(e.predicate), in(e.trueValue))), in(e.falseValue))
      case e: CaseWhen =>
        val otherwise = e.elseValue.fold(Request.nullOf(Values.typeOf(e.dataType)))(in)
        Values.caseWhen(e.branches.map { case (condition, value) => (in(condition), in(value)) }, otherwise)
      case e: Coalesce => ScalarFunction.COALESCE.of(e.children.map(in): _*)
      case e: Least => ScalarFunction.LEAST.of(e.children.map(in): _*)
      case e: Greatest => ScalarFunction.GREATEST.of(e.children.map(in): _*)
      case e: NormalizeNaNAndZero => ScalarFunction.ADD.of(in(e.child), default(e.dataType))
      case e: TaggingExpression => in(e.child)
      case e: Cast => TextCasts(e, in).getOrElse(cast(e, in(e.child)))
      case e: UnscaledValue => unscaled(in(e.child), e.child.dataType.asInstanceOf[DecimalType])
      case e: Round => round(e, in(e.child))
      case e: BinaryArithmetic if !e.isInstanceOf[Pmod] => arithmetic(e, in(e.left), in(e.right))
      // Java counts a shift modulo the value's bits, as Jumpgate does
      case e: ShiftRight => ScalarFunction.SHIFT_RIGHT.of(in(e.left), Values.cast(in(e.right), Values.typeOf(e.dataType)))
      case e: UnaryMinus => ScalarFunction.NEGATE.of(in(e.child))
      case e: Abs => ScalarFunction.ABS.of(in(e.child))
      case _ => other(expression, scope)
    }
  }

  /** Text, dates, and functions. */
  private def other(expression: Expression, scope: Scope): Value = {
    def in(e: Expression): Value = apply(e, scope)
    def call(function: ScalarFunction, arguments: Expression*): Value = function.of(arguments.map(in): _*)
    def number(function: ScalarFunction, arguments: Expression*): Value = Values.cast(call(function, arguments: _*), JumpgateType.INT32)

    expression.children.foreach(requirePlainText)
    expression match {
      case e: StartsWith => call(ScalarFunction.STARTS_WITH, e.left, e.right)
      case e: EndsWith => call(ScalarFunction.ENDS_WITH, e.left, e.right)
      case e: Contains => call(ScalarFunction.CONTAINS, e.left, e.right)
      case e: Like => like(e, in(e.left))
      case e: Substring => substring(e, in(e.str))
      case e: Upper => call(ScalarFunction.UPPER, e.child)
      case e: Lower => call(ScalarFunction.LOWER, e.child)
      case e: StringTrim if e.trimStr.isEmpty => call(ScalarFunction.TRIM, e.srcStr)
      case e: StringTrimLeft if e.trimStr.isEmpty => call(ScalarFunction.LTRIM, e.srcStr)
      case e: StringTrimRight if e.trimStr.isEmpty => call(ScalarFunction.RTRIM, e.srcStr)
      case e: Concat if e.dataType == StringType => call(ScalarFunction.CONCAT, e.children: _*)
      case e: Length if e.child.dataType == StringType => number(ScalarFunction.CHAR_LENGTH, e.child)
      case e: Year if e.child.dataType == DateType => number(ScalarFunction.YEAR, e.child)
      case e: Quarter if e.child.dataType == DateType => number(ScalarFunction.QUARTER, e.child)
      case e: Month if e.child.dataType == DateType => number(ScalarFunction.MONTH, e.child)
      case e: DayOfMonth if e.child.dataType == DateType => number(ScalarFunction.DAY, e.child)
      case e: DateAdd => ScalarFunction.DATE_ADD_DAYS.of(in(e.left), Values.cast(in(e.right), JumpgateType.INT32))
      case e: DateSub =>
        val days = ScalarFunction.NEGATE.of(Values.cast(in(e.right), JumpgateType.INT32))
        ScalarFunction.DATE_ADD_DAYS.of(in(e.left), days)
      case e: DateDiff => number(ScalarFunction.DAYS_BETWEEN, e.left, e.right)
      case _ =>
        new Functions(in)(expression).orElse(new Lists(in, passed(_, scope))(expression)).getOrElse(
          NotOffloaded(Code.EXPRESSION, s"${expression.prettyName} is not known: ${expression.sql}"))
    }
  }

  /** A quotient of decimals to so many digits, rounded as Spark does. */
  def quotient(a: Value, b: Value, result: DecimalType): Value =
    ScalarFunction.DIVIDE_DECIMAL.of(a, b, Values.integer(result.precision), Values.integer(result.scale))

  /** A value of the type, for places where any will do. */
  def default(dataType: DataType): Value = Values.literal(Literal.default(dataType).value, dataType)

  // ---- constants

  private def constant(e: Expression): Value =
    if (subqueries(e).nonEmpty && Values.isNested(e.dataType)) NotOffloaded(Code.TYPE, s"${e.dataType.simpleString} of a subquery")
    else if (subqueries(e).nonEmpty) Request.parameter(e, Values.typeOf(e.dataType)) else Values.literal(value(e), e.dataType)

  /** The value of a parameter, of the results of its subqueries. */
  def parameter(e: Expression, results: Map[ExprId, Literal]): Value =
    Values.literal(value(e.transform { case s: ScalarSubquery => results.getOrElse(s.exprId, s) }), e.dataType)

  private def value(e: Expression): Any =
    try e.eval(EmptyRow)
    catch { case NonFatal(error) => NotOffloaded(Code.EXPRESSION, s"${e.sql} has no value: ${error.getMessage}") }

  // ---- comparisons and choices

  private def comparison(function: ScalarFunction, left: Value, right: Value): Value = {
    val (a, b) = Values.common(left, right)
    function.of(a, b)
  }

  private def inList(input: Value, dataType: DataType, values: Seq[Any]): Value =
    Request.in(input, values.map(Values.literal(_, dataType)).asJava)

  // ---- numbers

  private def arithmetic(e: BinaryArithmetic, left: Value, right: Value): Value = {
    (e, e.dataType) match {
      case (_: Add, d: DecimalType) => sum(ScalarFunction.ADD, left, right, d)
      case (_: Subtract, d: DecimalType) => sum(ScalarFunction.SUBTRACT, left, right, d)
      case (_: Multiply, d: DecimalType) => product(left, right, d)
      case (_: Divide, d: DecimalType) => quotient(left, right, d)
      case (_: Add, _) => ScalarFunction.ADD.of(left, right)
      case (_: Subtract, _) => ScalarFunction.SUBTRACT.of(left, right)
      case (_: Multiply, _) => ScalarFunction.MULTIPLY.of(left, right)
      case (_: Divide, DoubleType) => ScalarFunction.DIVIDE.of(left, right)
      case (_: IntegralDivide, LongType) if Whole(e.left.dataType) =>
        ScalarFunction.INT_DIVIDE.of(Values.cast(left, JumpgateType.INT64), Values.cast(right, JumpgateType.INT64))
      case (_: BitwiseAnd, _) => ScalarFunction.BIT_AND.of(left, right)
      case (_: BitwiseOr, _) => ScalarFunction.BIT_OR.of(left, right)
      case (_: BitwiseXor, _) => ScalarFunction.BIT_XOR.of(left, right)
      case (_: Remainder, t) if Whole(t) => ScalarFunction.MODULO.of(left, right)
      case (_: Remainder, d: DecimalType) if d.scale == decimalOf(left).scale.max(decimalOf(right).scale) =>
        val (a, b) = Values.common(left, right)
        Values.cast(ScalarFunction.MODULO.of(a, b), Values.typeOf(d))
      case _ => NotOffloaded(Code.EXPRESSION, s"${e.prettyName} of ${e.dataType.simpleString} is not known: ${e.sql}")
    }
  }

  /** Exact, then Spark's type: where Spark keeps fewer digits after the point, it would round. */
  private def sum(function: ScalarFunction, a: Value, b: Value, result: DecimalType): Value = {
    val (x, y) = (decimalOf(a), decimalOf(b))
    val scale = x.scale.max(y.scale)
    if (result.scale != scale) NotOffloaded(Code.DECIMAL, s"Spark rounds this sum to ${result.simpleString}")
    val digits = (x.precision - x.scale).max(y.precision - y.scale) + scale
    val wide = JumpgateType.decimal(digits.min(DecimalType.MAX_PRECISION), scale)
    Values.cast(function.of(Values.cast(a, wide), Values.cast(b, wide)), Values.typeOf(result))
  }

  private def product(a: Value, b: Value, result: DecimalType): Value = {
    val (x, y) = (decimalOf(a), decimalOf(b))
    val scale = x.scale + y.scale
    if (scale > DecimalType.MAX_SCALE) NotOffloaded(Code.DECIMAL, s"the product of ${x.name} and ${y.name} needs more than 38 digits")
    Values.cast(ScalarFunction.MULTIPLY.of(a, b), Values.typeOf(result))
  }

  private def decimalOf(e: Value): JumpgateType.Decimal = e.dataType.asInstanceOf[JumpgateType.Decimal]

  private def round(e: Round, child: Value): Value = (e.child.dataType, e.scale) match {
    case (_: DecimalType, Literal(digits: Int, _)) if digits >= 0 =>
      Values.cast(ScalarFunction.ROUND.of(child, Values.integer(digits)), Values.typeOf(e.dataType))
    case _ => NotOffloaded(Code.EXPRESSION, s"rounding of ${e.child.dataType.simpleString} is Spark's own: ${e.sql}")
  }

  /** A decimal's digits as an integer. */
  def unscaled(child: Value, d: DecimalType): Value = {
    val factor = Request.decimal(java.math.BigDecimal.TEN.pow(d.scale), d.scale + 1, 0)
    Values.cast(ScalarFunction.MULTIPLY.of(child, factor), JumpgateType.INT64)
  }

  private def cast(e: Cast, child: Value): Value = {
    val (from, to) = (e.child.dataType, e.dataType)
    (from, to) match {
      case (a, b) if a == b => child
      case (a, b) if (Whole(a) || a == BooleanType) && (Whole(b) || b == BooleanType) => Values.cast(child, Values.typeOf(b))
      case (a, FloatType | DoubleType) if Whole(a) => Values.cast(child, Values.typeOf(to))
      case (a, _: DecimalType) if Whole(a) => Values.cast(child, Values.typeOf(to))
      case (_: DecimalType, _: DecimalType) => Values.cast(child, Values.typeOf(to))
      case (_: DecimalType, b) if Whole(b) => Values.cast(child, Values.typeOf(to))
      case (FloatType | DoubleType, b) if Whole(b) || b == FloatType || b == DoubleType => Values.cast(child, Values.typeOf(b))
      // a double holds all digits: one division, which rounds once
      case (d: DecimalType, DoubleType) if d.precision <= 15 => Values.cast(child, JumpgateType.FLOAT64)
      case (DoubleType, d: DecimalType) if d.scale <= SureScale => ofDouble(child, d)
      case _ => ofTime(e, child).getOrElse(
          NotOffloaded(Code.CAST, s"casts from ${from.simpleString} to ${to.simpleString} are Spark's own: ${e.sql}"))
    }
  }

  /** By the digits of a double's text, of which Java has other ones for large numbers: these fail in Jumpgate. */
  private def ofDouble(value: Value, d: DecimalType): Value = {
    def converted(v: Value) = ScalarFunction.FLOAT_TO_DECIMAL.of(v, Values.integer(d.precision), Values.integer(d.scale))
    def double(v: Double) = Request.floating(v, JumpgateType.FLOAT64)
    val isSure = ScalarFunction.LT.of(ScalarFunction.ABS.of(value), double(SureBelow))
    Values.caseWhen(Seq((isSure, converted(value))), converted(ScalarFunction.MULTIPLY.of(value, double(1e300))))
  }

  /** Between days, times, moments, and seconds since 1970. */
  private def ofTime(e: Cast, child: Value): Option[Value] = (e.child.dataType, e.dataType) match {
    case (DateType, TimestampNTZType) => Some(Values.cast(child, JumpgateType.TIMESTAMP))
    case (DateType, TimestampType) => e.timeZoneId.map(Zones.startOfDay(child, _))
    case (TimestampNTZType, TimestampType) => e.timeZoneId.map(Zones.moment(child, _))
    case (from, DateType) => Zones.clock(child, from, e.timeZoneId).map(Values.cast(_, JumpgateType.DATE))
    case (TimestampType, TimestampNTZType) => Zones.clock(child, TimestampType, e.timeZoneId)
    case (TimestampType, LongType) => Some(Times.seconds(child))
    case (TimestampType, DoubleType) => Some(ScalarFunction.EPOCH.of(child))
    case (from, TimestampType) if Whole(from) => Some(Times.ofEpoch(child, 1000000))
    case _ => None
  }

  // ---- text

  private def like(e: Like, input: Value): Value = e.right match {
    case Literal(pattern: UTF8String, _) =>
      val text = pattern.toString
      val arguments = Seq(input, Request.string(text)) ++ (if (text.contains(e.escapeChar)) Seq(Request.string(e.escapeChar.toString)) else Nil)
      ScalarFunction.LIKE.of(arguments: _*)
    case _ => NotOffloaded(Code.EXPRESSION, s"a pattern must be a literal: ${e.sql}")
  }

  private def substring(e: Substring, input: Value): Value = (e.pos, e.len) match {
    case (Literal(pos: Int, _), Literal(len: Int, _)) if pos >= 0 && e.str.dataType == StringType =>
      ScalarFunction.SUBSTRING.of(input, Values.long(pos.max(1).toLong), Values.long(len.max(0).toLong))
    case (Literal(pos: Int, _), Literal(len: Int, _)) if pos < 0 && len >= -pos.toLong && e.str.dataType == StringType =>
      ScalarFunction.RIGHT.of(input, Values.long(-pos.toLong))
    case _ => NotOffloaded(Code.EXPRESSION, s"substrings need literal positions, and negative ones reach to the end: ${e.sql}")
  }

  /** Subqueries whose results are literals before the request is made. */
  def subqueries(e: Expression): Seq[ScalarSubquery] = e.collect { case s: ScalarSubquery => s }

  /** Whether it has one value for all rows. */
  def isConstant(e: Expression): Boolean = e match {
    case _: Literal => true
    case s: ScalarSubquery => !s.isCorrelated
    case _ => e.children.nonEmpty && e.deterministic && e.children.forall(isConstant) && (e.foldable || subqueries(e).nonEmpty)
  }

  def conjuncts(e: Expression): Seq[Expression] = e match {
    case And(a, b) => conjuncts(a) ++ conjuncts(b)
    case _ => Seq(e)
  }

  def disjuncts(e: Expression): Seq[Expression] = e match {
    case Or(a, b) => disjuncts(a) ++ disjuncts(b)
    case _ => Seq(e)
  }

  private def requirePlainText(e: Expression): Unit = e.dataType match {
    case s: StringType if s != StringType => NotOffloaded(Code.TYPE, s"text is compared by its collation: ${s.simpleString}")
    case _ =>
  }
}
