package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Operator.WindowFrame
import io.jumpgate.dataflow.{DataType => JumpgateType, Operator}
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
  private type Call = (String, Seq[Value], JumpgateType)

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
      val named = functions.zipWithIndex.map { case ((function, arguments, dataType), i) =>
        new Operator.WindowFunction(function, arguments.asJava, dataType, s"w${below.schema.size + i}")
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
    def measure(name: String, argument: Option[Value]) = {
      val result = Measures.typeOf(name, argument)
      // what a float leaves behind in a sum stays when it leaves the frame
      if (frame.start.isPresent && result.same(JumpgateType.FLOAT64) && WindowTranslator.Summed(name))
        NotOffloaded(Code.WINDOW, s"a $name of floats over a frame that slides is Spark's own: ${function.sql}")
      add(frame, (name, argument.toSeq, result))
    }
    def in(e: Expression) = ExpressionTranslator(e, input)
    function match {
      case _: RowNumber | _: Rank | _: DenseRank =>
        val at = add(frame, (function.prettyName, Nil, JumpgateType.INT64.withNullable(false)))
        column => Values.cast(column(at), JumpgateType.INT32)
      case _: PercentRank | _: CumeDist =>
        val at = add(WindowTranslator.ToHere, (function.prettyName, Nil, JumpgateType.FLOAT64.withNullable(false)))
        column => column(at)
      case NTile(Literal(n: Int, _)) if n > 0 =>
        val at = add(WindowTranslator.ToHere, ("ntile", Seq(Values.long(n.toLong)), JumpgateType.INT64.withNullable(false)))
        column => Values.cast(column(at), JumpgateType.INT32)
      case w: Lag if !w.ignoreNulls => shifted(w.input, w.offset, w.default)
      case w: Lead if !w.ignoreNulls => shifted(w.input, w.offset, w.default)
      case NthValue(e, Literal(n: Int, _), false) if n > 0 => placed("nth_value", frame, e, Values.long(n.toLong))
      case AggregateExpression(_, _, true, _, _) => NotOffloaded(Code.WINDOW, s"DISTINCT in a window is not offloaded: ${function.sql}")
      case AggregateExpression(f, _, false, None, _) =>
        f match {
          case First(e, false) => placed("first_value", frame, e)
          case Last(e, false) => placed("last_value", frame, e)
          case Sum(e, _) =>
            val at = measure("sum", Some(in(e)))
            column => Values.cast(column(at), Values.typeOf(dataType))
          case Average(e, _) if e.dataType.isInstanceOf[DecimalType] =>
            val (sum, count) = (measure("sum", Some(in(e))), measure("count", Some(in(e))))
            column => ExpressionTranslator.quotient(
              column(sum), Values.cast(column(count), JumpgateType.decimal(19, 0)), dataType.asInstanceOf[DecimalType])
          case Average(e, _) =>
            val at = measure("avg", Some(Values.cast(in(e), JumpgateType.FLOAT64)))
            column => column(at)
          case Count(Seq(e)) =>
            val at = if (e.nullable) measure("count", Some(in(e))) else measure("count_star", None)
            column => column(at)
          case Min(e) =>
            val at = measure("min", Some(in(e)))
            column => column(at)
          case Max(e) =>
            val at = measure("max", Some(in(e)))
            column => column(at)
          case s: StddevSamp =>
            val at = measure("stddev", Some(in(s.child)))
            column => column(at)
          case _ => NotOffloaded(Code.WINDOW, s"${f.prettyName} is not offloaded in a window: ${function.sql}")
        }
      case _ => NotOffloaded(Code.WINDOW, s"${function.prettyName} is not offloaded in a window: ${function.sql}")
    }
  }

  /** The value of a row before (`offset` < 0) or after; `default` where there is none. */
  private def shifted(e: Expression, offset: Expression, default: Expression): (((WindowFrame, Int)) => Value) => Value =
    (offset, default) match {
      case (Literal(n: Int, _), Literal(otherwise, _)) if n != Int.MinValue =>
        val last = if (otherwise == null) Nil else Seq(ExpressionTranslator(Literal(otherwise, e.dataType), input))
        placed(if (n < 0) "lag" else "lead", WindowTranslator.ToHere, e, Values.long(n.toLong.abs) +: last: _*)
      case _ => NotOffloaded(Code.WINDOW, s"distances and defaults must be literals: ${offset.sql}, ${default.sql}")
    }

  /** The value of another row. */
  private def placed(name: String, frame: WindowFrame, e: Expression, more: Value*): (((WindowFrame, Int)) => Value) => Value = {
    if (ExpressionTranslator.isConstant(e)) NotOffloaded(Code.WINDOW, s"$name of a constant is not offloaded")
    val value = ExpressionTranslator(e, input)
    val at = add(frame, (name, value +: more, value.dataType.withNullable(true)))
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
    case _ => NotOffloaded(Code.WINDOW, s"a frame to ${e.sql} is not offloaded")
  }
}

private object WindowTranslator {
  /** Of functions that look at the whole partition. */
  private val ToHere = new WindowFrame("range", OptionalLong.empty(), OptionalLong.of(0))

  /** Functions that are computed from sums. */
  private val Summed = Set("sum", "avg", "stddev")
}
