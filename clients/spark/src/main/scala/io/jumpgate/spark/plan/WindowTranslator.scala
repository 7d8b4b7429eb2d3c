package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Operator.WindowFrame
import io.jumpgate.dataflow.{DataType => JumpgateType, Operator, WindowFunction}
import io.jumpgate.explain.Code
import java.util.OptionalLong
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.Window
import org.apache.spark.sql.types._
import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** Window functions: those of one frame are one operator, and a projection computes Spark's functions from them. */
private final class WindowTranslator(window: Window, child: Operator) {
  private type Call = (WindowFunction, Seq[Value])

  private val input = Scope.of(child, window.child.output)
  private val calls = mutable.LinkedHashMap[WindowFrame, mutable.ArrayBuffer[Call]]()
  private val results = mutable.ArrayBuffer[(ExprId, (((WindowFrame, Int)) => Value) => Value)]()

  def operator: Operator = {
    val outputs = window.windowExpressions.map(e => e.name -> replaced(e))
    val partition = window.partitionSpec.map(ExpressionTranslator(_, input)).asJava
    val order = Scope.sortKeys(window.orderSpec, input).asJava
    val first = mutable.HashMap[WindowFrame, Int]()
    val windowed = calls.foldLeft(child) { case (below, (frame, functions)) =>
      first(frame) = below.schema.size
      val named = functions.zipWithIndex.map { case ((function, arguments), i) =>
        new Operator.WindowCall(function, arguments.asJava, s"w${below.schema.size + i}")
      }
      below.window(partition, order, named.asJava, frame)
    }
    def column(at: (WindowFrame, Int)): Value = windowed.column(first(at._1) + at._2)
    val values = results.map { case (id, value) => id -> value(column) }
    val columns = window.child.output.indices.map(i => window.child.output(i) -> windowed.column(i))
    val scope = new Scope((columns.map(c => c._1.exprId -> c._2) ++ values).toMap)
    Scope.project(
      windowed,
      columns.map(c => c._1.name -> c._2) ++ outputs.map { case (name, e) => name -> ExpressionTranslator(e, scope) })
  }

  /** With attributes in place of window functions. */
  private def replaced(e: Expression): Expression = e match {
    case MakeDecimal(WindowExpression(a @ AggregateExpression(Sum(UnscaledValue(x), context), _, _, _, _), spec), precision, scale, _) =>
      result(a.copy(aggregateFunction = Sum(x, context)), spec, DecimalType(precision, scale))
    case WindowExpression(function, spec) => result(function, spec, function.dataType)
    case _ => e.mapChildren(replaced)
  }

  private def result(function: Expression, spec: WindowSpecDefinition, dataType: DataType): Attribute = {
    val attribute = AttributeReference("w", dataType)()
    results += attribute.exprId -> computed(function, frameOf(spec), dataType)
    attribute
  }

  private def computed(function: Expression, frame: WindowFrame, dataType: DataType): (((WindowFrame, Int)) => Value) => Value = {
    def measure(name: WindowFunction, argument: Option[Value]) = {
      // what a float leaves behind in a sum stays when it leaves the frame
      if (frame.start.isPresent && WindowTranslator.Summed(name) && name.`type`(argument.toSeq.asJava).same(JumpgateType.FLOAT64))
        NotOffloaded(Code.WINDOW, s"a ${name.text} of floats over a frame that slides is Spark's own: ${function.sql}")
      add(frame, (name, argument.toSeq))
    }
    def in(e: Expression) = ExpressionTranslator(e, input)
    function match {
      case _: RowNumber => counted(WindowFunction.ROW_NUMBER, frame)
      case _: Rank => counted(WindowFunction.RANK, frame)
      case _: DenseRank => counted(WindowFunction.DENSE_RANK, frame)
      case _: PercentRank => one(WindowFunction.PERCENT_RANK)
      case _: CumeDist => one(WindowFunction.CUME_DIST)
      case NTile(Literal(n: Int, _)) if n > 0 =>
        counted(WindowFunction.NTILE, WindowTranslator.ToHere, Values.long(n.toLong))
      case w: Lag if !w.ignoreNulls => shifted(w.input, w.offset, w.default)
      case w: Lead if !w.ignoreNulls => shifted(w.input, w.offset, w.default)
      case NthValue(e, Literal(n: Int, _), false) if n > 0 => placed(WindowFunction.NTH_VALUE, frame, e, Values.long(n.toLong))
      case AggregateExpression(_, _, true, _, _) => NotOffloaded(Code.WINDOW, s"DISTINCT in a window is not offloaded: ${function.sql}")
      case AggregateExpression(f, _, false, None, _) =>
        f match {
          case First(e, false) => placed(WindowFunction.FIRST_VALUE, frame, e)
          case Last(e, false) => placed(WindowFunction.LAST_VALUE, frame, e)
          case Sum(e, _) =>
            val at = measure(WindowFunction.SUM, Some(in(e)))
            column => Values.cast(column(at), Values.typeOf(dataType))
          case Average(e, _) if e.dataType.isInstanceOf[DecimalType] =>
            val (sum, count) = (measure(WindowFunction.SUM, Some(in(e))), measure(WindowFunction.COUNT, Some(in(e))))
            column => ExpressionTranslator.quotient(
              column(sum), Values.cast(column(count), JumpgateType.decimal(19, 0)), dataType.asInstanceOf[DecimalType])
          case Average(e, _) =>
            val at = measure(WindowFunction.AVG, Some(Values.cast(in(e), JumpgateType.FLOAT64)))
            column => column(at)
          case Count(Seq(e)) =>
            val at = if (e.nullable) measure(WindowFunction.COUNT, Some(in(e))) else measure(WindowFunction.COUNT_STAR, None)
            column => column(at)
          case Min(e) =>
            val at = measure(WindowFunction.MIN, Some(in(e)))
            column => column(at)
          case Max(e) =>
            val at = measure(WindowFunction.MAX, Some(in(e)))
            column => column(at)
          case s: StddevSamp =>
            val at = measure(WindowFunction.STDDEV, Some(in(s.child)))
            column => column(at)
          case _ => NotOffloaded(Code.WINDOW, s"${f.prettyName} is not offloaded in a window: ${function.sql}")
        }
      case _ => NotOffloaded(Code.WINDOW, s"${function.prettyName} is not offloaded in a window: ${function.sql}")
    }
  }

  /** A number that Spark has in 32 bits. */
  private def counted(name: WindowFunction, frame: WindowFrame, arguments: Value*): (((WindowFrame, Int)) => Value) => Value = {
    val at = add(frame, (name, arguments))
    column => Values.cast(column(at), JumpgateType.INT32)
  }

  private def one(name: WindowFunction): (((WindowFrame, Int)) => Value) => Value = {
    val at = add(WindowTranslator.ToHere, (name, Nil))
    column => column(at)
  }

  /** The value of a row before (`offset` < 0) or after; `default` where there is none. */
  private def shifted(e: Expression, offset: Expression, default: Expression): (((WindowFrame, Int)) => Value) => Value =
    (offset, default) match {
      case (Literal(n: Int, _), Literal(otherwise, _)) if n != Int.MinValue =>
        val last = if (otherwise == null) Nil else Seq(ExpressionTranslator(Literal(otherwise, e.dataType), input))
        placed(if (n < 0) WindowFunction.LAG else WindowFunction.LEAD, WindowTranslator.ToHere, e, Values.long(n.toLong.abs) +: last: _*)
      case _ => NotOffloaded(Code.WINDOW, s"distances and defaults must be literals: ${offset.sql}, ${default.sql}")
    }

  /** The value of another row. */
  private def placed(name: WindowFunction, frame: WindowFrame, e: Expression, more: Value*): (((WindowFrame, Int)) => Value) => Value = {
    if (ExpressionTranslator.isConstant(e)) NotOffloaded(Code.WINDOW, s"${name.text} of a constant is not offloaded")
    val value = ExpressionTranslator(e, input)
    val at = add(frame, (name, value +: more))
    column => column(at)
  }

  private def add(frame: WindowFrame, call: Call): (WindowFrame, Int) = {
    val known = calls.getOrElseUpdate(frame, mutable.ArrayBuffer[Call]())
    known += call
    (frame, known.size - 1)
  }

  private def frameOf(spec: WindowSpecDefinition): WindowFrame = spec.frameSpecification match {
    case SpecifiedWindowFrame(kind, lower, upper) =>
      val unit = if (kind == RowFrame) "rows" else "range"
      new WindowFrame(unit, bound(lower, kind, spec), bound(upper, kind, spec))
    case UnspecifiedFrame => NotOffloaded(Code.WINDOW, "a window without a frame")
  }

  private def bound(e: Expression, kind: FrameType, spec: WindowSpecDefinition): OptionalLong = e match {
    case UnboundedPreceding | UnboundedFollowing => OptionalLong.empty()
    case CurrentRow => OptionalLong.of(0)
    case UnaryMinus(distance, _) => OptionalLong.of(-rows(distance, kind, spec))
    case distance => OptionalLong.of(rows(distance, kind, spec))
  }

  private def isWhole(dataType: DataType): Boolean = ExpressionTranslator.Whole(dataType)

  /** Or differences of the key, of integers or days. */
  private def rows(e: Expression, kind: FrameType, spec: WindowSpecDefinition): Long = (e, spec.orderSpec.map(_.dataType)) match {
    case (Literal(n: Int, _), _) if kind == RowFrame => n.toLong
    case (Literal(n: Number, t), Seq(key)) if kind == RangeFrame && isWhole(t) && (isWhole(key) || key == DateType) => n.longValue
    case (Literal(time: Long, DayTimeIntervalType(DayTimeIntervalType.DAY, DayTimeIntervalType.DAY)), Seq(DateType)) if kind == RangeFrame =>
      time / WindowTranslator.DayMicroseconds
    case _ => NotOffloaded(Code.WINDOW, s"a frame to ${e.sql} is not offloaded")
  }
}

private object WindowTranslator {
  private val DayMicroseconds = 86400000000L
  /** Of functions that look at the whole partition. */
  private val ToHere = new WindowFrame("range", OptionalLong.empty(), OptionalLong.of(0))

  /** Functions that are computed from sums. */
  private val Summed = Set(WindowFunction.SUM, WindowFunction.AVG, WindowFunction.STDDEV)
}
