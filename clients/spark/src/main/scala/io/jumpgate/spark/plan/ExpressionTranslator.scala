package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request}
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

  def apply(expression: Expression, scope: Scope): Value = {
    def in(e: Expression): Value = apply(e, scope)

    expression match {
      case e if isConstant(e) => constant(e)
      case a: Attribute => scope(a)
      case a: Alias => in(a.child)
      case e: And => Values.and(conjuncts(e).map(in))
      case e: Or => Values.or(disjuncts(e).map(in))
      case Not(EqualTo(a, b)) => comparison("ne", in(a), in(b))
      case Not(EqualNullSafe(a, b)) =>
        val (x, y) = Values.common(in(a), in(b))
        Values.certain("is_distinct", x, y)
      case e: Not => Values.strict("not", JumpgateType.BOOL, in(e.child))
      case EqualTo(a, b) => comparison("eq", in(a), in(b))
      case LessThan(a, b) => comparison("lt", in(a), in(b))
      case LessThanOrEqual(a, b) => comparison("le", in(a), in(b))
      case GreaterThan(a, b) => comparison("gt", in(a), in(b))
      case GreaterThanOrEqual(a, b) => comparison("ge", in(a), in(b))
      case EqualNullSafe(a, b) =>
        val (x, y) = Values.common(in(a), in(b))
        Values.certain("is_not_distinct", x, y)
      case e: IsNull => Values.certain("is_null", in(e.child))
      case e: IsNotNull => Values.certain("is_not_null", in(e.child))
      case e: IsNaN =>
        val isNaN = Values.strict("is_nan", JumpgateType.BOOL, in(e.child))
        Values.coalesce(isNaN, Request.bool(false))
      case e: In if e.list.forall(isConstant) => inList(in(e.value), e.value.dataType, e.list.map(value))
      case e: InSet => inList(in(e.child), e.child.dataType, e.hset.toSeq)
      case e: If => Values.caseWhen(Seq((in(e.predicate), in(e.trueValue))), in(e.falseValue))
      case e: CaseWhen =>
        val otherwise = e.elseValue.fold(Request.nullOf(Values.typeOf(e.dataType)))(in)
        Values.caseWhen(e.branches.map { case (condition, value) => (in(condition), in(value)) }, otherwise)
      case e: Coalesce => Values.any("coalesce", e.children.map(in))
      case e: Least => Values.any("least", e.children.map(in))
      case e: Greatest => Values.any("greatest", e.children.map(in))
      case e: NormalizeNaNAndZero => Values.fallible("add", Values.typeOf(e.dataType), in(e.child), default(e.dataType))
      case e: TaggingExpression => in(e.child)
      case e: Cast => cast(e, in(e.child))
      case e: UnscaledValue => unscaled(in(e.child), e.child.dataType.asInstanceOf[DecimalType])
      case e: Round => round(e, in(e.child))
      case e: BinaryArithmetic => arithmetic(e, in(e.left), in(e.right))
      // Java counts a shift modulo the value's bits, as Jumpgate does
      case e: ShiftRight => Values.strict("shift_right", Values.typeOf(e.dataType), in(e.left), Values.cast(in(e.right), Values.typeOf(e.dataType)))
      case e: UnaryMinus => Values.fallible("negate", Values.typeOf(e.dataType), in(e.child))
      case e: Abs => Values.fallible("abs", Values.typeOf(e.dataType), in(e.child))
      case _ => other(expression, scope)
    }
  }

  /** Text and dates. */
  private def other(expression: Expression, scope: Scope): Value = {
    def in(e: Expression): Value = apply(e, scope)
    def text(name: String, arguments: Expression*): Value = Values.strict(name, JumpgateType.STRING, arguments.map(in): _*)
    def test(name: String, arguments: Expression*): Value = Values.strict(name, JumpgateType.BOOL, arguments.map(in): _*)
    def part(name: String, of: Expression): Value =
      Values.cast(Values.strict(name, JumpgateType.INT64, in(of)), JumpgateType.INT32)

    expression.children.foreach(requirePlainText)
    expression match {
      case e: StartsWith => test("starts_with", e.left, e.right)
      case e: EndsWith => test("ends_with", e.left, e.right)
      case e: Contains => test("contains", e.left, e.right)
      case e: Like => like(e, in(e.left))
      case e: Substring => substring(e, in(e.str))
      case e: Upper => text("upper", e.child)
      case e: Lower => text("lower", e.child)
      case e: StringTrim if e.trimStr.isEmpty => text("trim", e.srcStr)
      case e: StringTrimLeft if e.trimStr.isEmpty => text("ltrim", e.srcStr)
      case e: StringTrimRight if e.trimStr.isEmpty => text("rtrim", e.srcStr)
      case e: Concat if e.dataType == StringType => text("concat", e.children: _*)
      case e: Length if e.child.dataType == StringType => part("char_length", e.child)
      case e: Year if e.child.dataType == DateType => part("year", e.child)
      case e: Quarter if e.child.dataType == DateType => part("quarter", e.child)
      case e: Month if e.child.dataType == DateType => part("month", e.child)
      case e: DayOfMonth if e.child.dataType == DateType => part("day", e.child)
      case e: DateAdd => Values.fallible("date_add_days", JumpgateType.DATE, in(e.left), Values.cast(in(e.right), JumpgateType.INT32))
      case e: DateSub =>
        val days = Values.fallible("negate", JumpgateType.INT32, Values.cast(in(e.right), JumpgateType.INT32))
        Values.fallible("date_add_days", JumpgateType.DATE, in(e.left), days)
      case e: DateDiff => part2("days_between", in(e.left), in(e.right))
      case _ =>
        new Functions(in)(expression).getOrElse(
          NotOffloaded(Code.EXPRESSION, s"${expression.prettyName} is not known: ${expression.sql}"))
    }
  }

  private def part2(name: String, a: Value, b: Value): Value =
    Values.cast(Values.strict(name, JumpgateType.INT64, a, b), JumpgateType.INT32)

  /** A quotient of decimals to so many digits, rounded as Spark does. */
  def quotient(a: Value, b: Value, result: DecimalType): Value =
    Values.fallible("divide_decimal", Values.typeOf(result), a, b, Values.integer(result.precision), Values.integer(result.scale))

  /** A value of the type, for places where any will do. */
  def default(dataType: DataType): Value = Values.literal(Literal.default(dataType).value, dataType)

  // ---- constants

  private def constant(e: Expression): Value =
    if (subqueries(e).nonEmpty) Request.nullOf(Values.typeOf(e.dataType)) else Values.literal(value(e), e.dataType)

  private def value(e: Expression): Any =
    try e.eval(EmptyRow)
    catch { case NonFatal(error) => NotOffloaded(Code.EXPRESSION, s"${e.sql} has no value: ${error.getMessage}") }

  // ---- comparisons and choices

  private def comparison(name: String, left: Value, right: Value): Value = {
    val (a, b) = Values.common(left, right)
    Values.strict(name, JumpgateType.BOOL, a, b)
  }

  private def inList(input: Value, dataType: DataType, values: Seq[Any]): Value =
    Request.in(input, values.map(Values.literal(_, dataType)).asJava)

  // ---- numbers

  private def arithmetic(e: BinaryArithmetic, left: Value, right: Value): Value = {
    (e, e.dataType) match {
      case (_: Add, d: DecimalType) => sum("add", left, right, d)
      case (_: Subtract, d: DecimalType) => sum("subtract", left, right, d)
      case (_: Multiply, d: DecimalType) => product(left, right, d)
      case (_: Divide, d: DecimalType) => quotient(left, right, d)
      case (_: Add, t) => Values.fallible("add", Values.typeOf(t), left, right)
      case (_: Subtract, t) => Values.fallible("subtract", Values.typeOf(t), left, right)
      case (_: Multiply, t) => Values.fallible("multiply", Values.typeOf(t), left, right)
      case (_: Divide, DoubleType) => Values.fallible("divide", JumpgateType.FLOAT64, left, right)
      case (_: IntegralDivide, LongType) if Whole(e.left.dataType) =>
        Values.fallible("int_divide", JumpgateType.INT64, Values.cast(left, JumpgateType.INT64), Values.cast(right, JumpgateType.INT64))
      case (_: BitwiseAnd, t) => Values.strict("bit_and", Values.typeOf(t), left, right)
      case (_: BitwiseOr, t) => Values.strict("bit_or", Values.typeOf(t), left, right)
      case (_: BitwiseXor, t) => Values.strict("bit_xor", Values.typeOf(t), left, right)
      case (_: Remainder, t) if Whole(t) => Values.fallible("modulo", Values.typeOf(t), left, right)
      case _ => NotOffloaded(Code.EXPRESSION, s"${e.prettyName} of ${e.dataType.simpleString} is not known: ${e.sql}")
    }
  }

  /** Exact, then Spark's type: where Spark keeps fewer digits after the point, it would round. */
  private def sum(name: String, a: Value, b: Value, result: DecimalType): Value = {
    val (x, y) = (decimalOf(a), decimalOf(b))
    val scale = x.scale.max(y.scale)
    if (result.scale != scale) NotOffloaded(Code.DECIMAL, s"Spark rounds this sum to ${result.simpleString}")
    val digits = (x.precision - x.scale).max(y.precision - y.scale) + scale
    val wide = JumpgateType.decimal(digits.min(DecimalType.MAX_PRECISION), scale)
    val exact = JumpgateType.decimal((digits + 1).min(DecimalType.MAX_PRECISION), scale)
    Values.cast(Values.fallible(name, exact, Values.cast(a, wide), Values.cast(b, wide)), Values.typeOf(result))
  }

  private def product(a: Value, b: Value, result: DecimalType): Value = {
    val (x, y) = (decimalOf(a), decimalOf(b))
    val scale = x.scale + y.scale
    if (scale > DecimalType.MAX_SCALE) NotOffloaded(Code.DECIMAL, s"the product of ${x.name} and ${y.name} needs more than 38 digits")
    val exact = JumpgateType.decimal((x.precision + y.precision).min(DecimalType.MAX_PRECISION), scale)
    Values.cast(Values.fallible("multiply", exact, a, b), Values.typeOf(result))
  }

  private def decimalOf(e: Value): JumpgateType.Decimal = e.dataType.asInstanceOf[JumpgateType.Decimal]

  private def round(e: Round, child: Value): Value = (e.child.dataType, e.scale) match {
    case (d: DecimalType, Literal(digits: Int, _)) if digits >= 0 =>
      val rounded =
        if (digits >= d.scale) Values.typeOf(d) else JumpgateType.decimal(d.precision, digits)
      Values.cast(Values.fallible("round", rounded, child, Values.integer(digits)), Values.typeOf(e.dataType))
    case _ => NotOffloaded(Code.EXPRESSION, s"rounding of ${e.child.dataType.simpleString} is Spark's own: ${e.sql}")
  }

  /** A decimal's digits as an integer. */
  private def unscaled(child: Value, d: DecimalType): Value = {
    val factor = Request.decimal(java.math.BigDecimal.TEN.pow(d.scale), d.scale + 1, 0)
    val exact = JumpgateType.decimal(d.precision + d.scale + 1, d.scale)
    Values.cast(Values.fallible("multiply", exact, child, factor), JumpgateType.INT64)
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
      case (DoubleType, d: DecimalType) =>
        Values.fallible("float_to_decimal", Values.typeOf(d), child, Values.integer(d.precision), Values.integer(d.scale))
      case (a, StringType) if Whole(a) || a == DateType => Values.cast(child, JumpgateType.STRING)
      case _ => NotOffloaded(Code.CAST, s"casts from ${from.simpleString} to ${to.simpleString} are Spark's own: ${e.sql}")
    }
  }

  // ---- text

  private def like(e: Like, input: Value): Value = e.right match {
    case Literal(pattern: UTF8String, _) =>
      val text = pattern.toString
      val arguments = Seq(input, Request.string(text)) ++ (if (text.contains(e.escapeChar)) Seq(Request.string(e.escapeChar.toString)) else Nil)
      Values.strict("like", JumpgateType.BOOL, arguments: _*)
    case _ => NotOffloaded(Code.EXPRESSION, s"a pattern must be a literal: ${e.sql}")
  }

  private def substring(e: Substring, input: Value): Value = (e.pos, e.len) match {
    case (Literal(pos: Int, _), Literal(len: Int, _)) if pos >= 0 && e.str.dataType == StringType =>
      Values.strict("substring", JumpgateType.STRING, input, Values.long(pos.max(1).toLong), Values.long(len.max(0).toLong))
    case _ => NotOffloaded(Code.EXPRESSION, s"substrings need literal positions that are not negative: ${e.sql}")
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
