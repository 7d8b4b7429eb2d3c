package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Expression.SortKey
import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Measure, MeasureFunction, Operator, ScalarFunction}
import io.jumpgate.explain.Code
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** An aggregate of Spark's: keys and measures, and a projection that computes from these what Spark's functions are. */
private final class AggregateTranslator(aggregate: Aggregate, child: Operator) {
  private val input = Scope.of(child, aggregate.child.output)
  private val keys = aggregate.groupingExpressions.map(key(_))
  private val measures = new Measures(aggregate, input)

  def operator: Operator = {
    // what the output computes from keys and measures, each of which becomes an attribute of its own
    val keyAttributes = aggregate.groupingExpressions.map(e => AttributeReference("k", e.dataType, e.nullable)())
    val results = aggregate.aggregateExpressions.map(e => e.name -> measured(e, keyAttributes))
    val grouped = child.aggregate(
      keys.asJava,
      keys.indices.map(i => s"k$i").asJava,
      measures.list.asJava,
      Operator.Phase.FULL)
    val columns = keyAttributes.indices.map(i => keyAttributes(i).exprId -> grouped.column(i)).toMap
    val scope = new Scope(columns ++ measures.values(i => grouped.column(keys.size + i)))
    Scope.project(grouped, results.map { case (name, e) => name -> ExpressionTranslator.passed(e, scope) })
  }

  /** Of floats 0 and -0 are one group, whose key is 0. */
  private def key(e: Expression): Value = ExpressionTranslator(e.dataType match {
    case FloatType | DoubleType => NormalizeNaNAndZero(e)
    case _ => e
  }, input)

  private def measured(e: Expression, keyAttributes: Seq[Attribute]): Expression = {
    val grouping = aggregate.groupingExpressions
    measures.replaced(e) { e =>
      grouping.indexWhere(_.semanticEquals(e)) match {
        case -1 => None
        case i => Some(keyAttributes(i))
      }
    }
  }
}

private object AggregateTranslator {
  /** A condition that is an error, of a count that is not 0. */
  def fails(count: Value): Value = ScalarFunction.GT.of(negativeRoot(count), Request.floating(0, JumpgateType.FLOAT64))

  def negativeRoot(count: Value): Value = ScalarFunction.SQRT.of(ScalarFunction.NEGATE.of(Values.cast(count, JumpgateType.FLOAT64)))
}

/** Measures, each once, of aggregate functions that occur in expressions. */
private final class Measures(aggregate: Aggregate, input: Scope) {
  import AggregateTranslator.{fails, negativeRoot}

  private val found = mutable.LinkedHashMap[(MeasureFunction, Seq[Value], Seq[SortKey]), Measure]()
  /** Values of lists to which the query gives no order. */
  private lazy val together: Seq[Value] = aggregate.aggregateExpressions.flatMap(_.collect {
    case Lists.Collected(c) if c.order.isEmpty && !c.distinct => collected(c)
  }).distinct
  private val results = mutable.LinkedHashMap[Expression, (AttributeReference, (Int => Value) => Value)]()

  def list: Seq[Measure] = found.values.toSeq

  /** What the attributes that stand for aggregate functions are; `column`: that of a measure by its number. */
  def values(column: Int => Value): Map[ExprId, Value] =
    results.values.map { case (attribute, value) => attribute.exprId -> value(column) }.toMap

  /** The expression with attributes in place of aggregate functions, and of what `key` knows. */
  def replaced(e: Expression)(key: Expression => Option[Attribute]): Expression =
    key(e).getOrElse(e match {
      case MakeDecimal(Measures.Aggregated(Sum(UnscaledValue(x), context), a), precision, scale, _) =>
        result(a.copy(aggregateFunction = Sum(x, context), resultId = a.resultId), DecimalType(precision, scale))
      case GetArrayItem(Measures.Aggregated(p: PivotFirst, a), Literal(i: Int, _), _) =>
        val is = EqualNullSafe(p.pivotColumn, Literal(p.pivotColumnValues(i), p.pivotColumn.dataType))
        val only = Max(If(is, p.valueColumn, Literal(null, p.valueColumn.dataType))) // there is one row for each value
        result(a.copy(aggregateFunction = only, resultId = NamedExpression.newExprId), e.dataType)
      case Lists.Collected(c) => made(e, c.of.dataType, listed(c))
      case Measures.Aggregated(_, a) => result(a, a.dataType)
      case _ => e.mapChildren(replaced(_)(key))
    })

  private def result(a: AggregateExpression, dataType: DataType): Attribute =
    made(a, dataType, computed(a, dataType))

  private def made(of: Expression, dataType: DataType, value: => (Int => Value) => Value): Attribute =
    results.getOrElseUpdate(of.canonicalized, (AttributeReference("m", dataType)(), value))._1

  private def listed(c: Lists.Collected): (Int => Value) => Value = {
    Lists.requireComparable(c)
    Lists.requireNoOrder(c, aggregate.child)
    Lists.requireOrdered(together)
    val value = collected(c)
    val i = measure(Lists.function(c), distinct = false, Seq(value), Lists.order(c, value, together))
    column => column(i)
  }

  /** How a function's value comes from measures. */
  private def computed(a: AggregateExpression, dataType: DataType): (Int => Value) => Value = {
    def one(function: MeasureFunction, e: Expression, value: Value => Value = identity): Int =
      measure(function, a.isDistinct, Seq(filtered(a, e, value)))
    a.aggregateFunction match {
      case Sum(e, _) =>
        val i = one(MeasureFunction.SUM, e)
        column => Values.cast(column(i), Values.typeOf(dataType))
      case Average(e, _) =>
        (e.dataType, dataType) match {
          case (_: DecimalType, to: DecimalType) =>
            val (sum, count) = (one(MeasureFunction.SUM, e), one(MeasureFunction.COUNT, e))
            column => ExpressionTranslator.quotient(column(sum), Values.cast(column(count), JumpgateType.decimal(19, 0)), to)
          case _ =>
            val i = one(MeasureFunction.AVG, e, Values.cast(_, JumpgateType.FLOAT64))
            column => column(i)
        }
      case Count(Seq(e)) if !e.nullable && a.filter.isEmpty && !a.isDistinct =>
        val i = measure(MeasureFunction.COUNT_STAR, distinct = false, Nil)
        column => column(i)
      case Count(Seq(e)) =>
        val i = one(MeasureFunction.COUNT, e)
        column => column(i)
      case Count(several) if !a.isDistinct =>
        val all = several.map(IsNotNull(_): Expression).reduce(And(_, _))
        val i = one(MeasureFunction.COUNT, If(all, Literal(1), Literal(null, IntegerType)))
        column => column(i)
      case Min(e) =>
        val i = measure(MeasureFunction.MIN, distinct = false, Seq(filtered(a, e)))
        column => column(i)
      case Max(e) =>
        val i = measure(MeasureFunction.MAX, distinct = false, Seq(filtered(a, e)))
        column => column(i)
      case s: CentralMomentAgg if Measures.Moments.contains(s.prettyName) =>
        val i = one(Measures.Moments(s.prettyName), s.children.head)
        column => column(i)
      case f if Measures.Bits.contains(f.prettyName) && !a.isDistinct =>
        val i = one(Measures.Bits(f.prettyName), f.children.head)
        column => column(i)
      case f if Measures.Pairs.contains(f.prettyName) && !a.isDistinct =>
        val Seq(x, y) = f.children.take(2)
        val pair = Seq(filtered(a, x), ExpressionTranslator(y, input))
        val i = measure(Measures.Pairs(f.prettyName), distinct = false, pair)
        if (f.prettyName == "corr" && SQLConf.get.ansiEnabled) correlation(i, measure(MeasureFunction.REGR_COUNT, distinct = false, pair))
        else column => column(i)
      case Measures.ExactPercentile(e, share) =>
        val i = measure(MeasureFunction.PERCENTILE, a.isDistinct, Seq(filtered(a, e, Values.cast(_, JumpgateType.FLOAT64)), share))
        column => column(i)
      case Measures.DiscretePercentile(e, share) =>
        val i = measure(MeasureFunction.QUANTILE_DISC, a.isDistinct, Seq(filtered(a, e, Values.cast(_, JumpgateType.FLOAT64)), share))
        column => column(i)
      case First(e, ignoresNulls) if !a.isDistinct => only(a, e, ignoresNulls)
      case Last(e, ignoresNulls) if !a.isDistinct => only(a, e, ignoresNulls)
      case MaxBy(x, y) if !a.isDistinct => extreme(a, x, y, descending = true)
      case MinBy(x, y) if !a.isDistinct => extreme(a, x, y, descending = false)
      case other => NotOffloaded(Code.AGGREGATE, s"${other.prettyName} is not offloaded: ${a.sql}")
    }
  }

  /** The value of `x` in the row of the extreme `y`. Where several such rows differ, Spark takes any of them: it is the one to do so. */
  private def extreme(a: AggregateExpression, x: Expression, y: Expression, descending: Boolean): (Int => Value) => Value = {
    val by = filtered(a, y)
    val value = Values.caseWhen(Seq((ScalarFunction.IS_NOT_NULL.of(by), ExpressionTranslator(x, input))), Request.nullOf(Values.typeOf(x.dataType)))
    def first(last: Boolean) =
      measure(MeasureFunction.FIRST_VALUE, distinct = false, Seq(value), Seq(new SortKey(by, descending, false), new SortKey(value, last, !last)))
    val (low, high) = (first(last = false), first(last = true))
    val count = measure(MeasureFunction.COUNT_STAR, distinct = false, Nil)
    column => {
      val found = column(low)
      val failing = Values.caseWhen(Seq((fails(column(count)), Request.nullOf(found.dataType))), found)
      Values.caseWhen(Seq((ScalarFunction.IS_DISTINCT.of(found, column(high)), failing)), found)
    }
  }

  /** The value that all rows have. Where they differ, Spark takes that of any row: it is the one to do so. */
  private def only(a: AggregateExpression, e: Expression, ignoresNulls: Boolean): (Int => Value) => Value = {
    val value = filtered(a, e)
    val (low, high) = (measure(MeasureFunction.MIN, distinct = false, Seq(value)), measure(MeasureFunction.MAX, distinct = false, Seq(value)))
    val known = measure(MeasureFunction.COUNT, distinct = false, Seq(value))
    val all = if (ignoresNulls) known else measure(MeasureFunction.COUNT, distinct = false, Seq(filtered(a, Literal(1))))
    column => {
      val missing = ScalarFunction.AND.of(
        ScalarFunction.NE.of(column(known), column(all)), ScalarFunction.GT.of(column(known), Values.long(0)))
      val differ = ScalarFunction.OR.of(ScalarFunction.IS_DISTINCT.of(column(low), column(high)), missing)
      val failing = Values.caseWhen(Seq((fails(column(all)), Request.nullOf(value.dataType))), column(low))
      Values.caseWhen(Seq((differ, failing)), column(low))
    }
  }

  /** Where one side does not vary, of two pairs at least, Spark divides by zero: it is the one to say so. */
  private def correlation(i: Int, count: Int): (Int => Value) => Value = { column =>
    val isConstant = ScalarFunction.AND.of(ScalarFunction.IS_NULL.of(column(i)), ScalarFunction.GE.of(column(count), Values.long(2)))
    Values.caseWhen(Seq((isConstant, negativeRoot(column(count)))), column(i))
  }

  private def collected(c: Lists.Collected): Value = filtered(c.of, ExpressionTranslator.passed(c.values, input))

  private def filtered(a: AggregateExpression, e: Expression, value: Value => Value = identity): Value =
    filtered(a, value(ExpressionTranslator(e, input)))

  private def filtered(a: AggregateExpression, argument: Value): Value =
    a.filter.fold(argument)(condition =>
      Values.caseWhen(Seq((ExpressionTranslator(condition, input), argument)), Request.nullOf(argument.dataType)))

  private def measure(function: MeasureFunction, distinct: Boolean, arguments: Seq[Value], order: Seq[SortKey] = Nil): Int = {
    val key = (if (distinct) function.distinct() else function, arguments, order)
    if (!found.contains(key)) found(key) = new Measure(key._1, arguments.asJava, s"m${found.size}", order.asJava)
    found.keys.toSeq.indexOf(key)
  }
}

private object Measures {
  val Moments = Map(
    "stddev_samp" -> MeasureFunction.STDDEV, "stddev" -> MeasureFunction.STDDEV, "std" -> MeasureFunction.STDDEV, "stddev_pop" -> MeasureFunction.STDDEV_POP,
    "variance" -> MeasureFunction.VARIANCE, "var_samp" -> MeasureFunction.VARIANCE, "var_pop" -> MeasureFunction.VARIANCE_POP)

  val Bits = Map("bit_and" -> MeasureFunction.BIT_AND, "bit_or" -> MeasureFunction.BIT_OR, "bit_xor" -> MeasureFunction.BIT_XOR)

  val Pairs = Map("covar_pop" -> MeasureFunction.COVAR_POP, "covar_samp" -> MeasureFunction.COVAR_SAMP, "corr" -> MeasureFunction.CORR)

  /** A share of rows, of which percentiles are of numbers that a double holds. */
  private def shared(e: Expression, percentage: Expression, frequency: Expression): Option[(Expression, Value)] = {
    val isHeld = e.dataType match {
      case d: DecimalType => d.precision <= 15
      case ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
      case _ => false
    }
    percentage match {
      case Literal(share: Double, _) if isHeld && frequency == Literal(1L) => Some((e, Request.floating(share, JumpgateType.FLOAT64)))
      case _ => None
    }
  }

  /** A percentile between values, and its share. */
  object ExactPercentile {
    def unapply(f: AggregateFunction): Option[(Expression, Value)] = f match {
      case p: Percentile if !p.reverse => shared(p.child, p.percentageExpression, p.frequencyExpression)
      case _ => None
    }
  }

  /** A percentile that is a value, and its share. */
  object DiscretePercentile {
    def unapply(f: AggregateFunction): Option[(Expression, Value)] = f match {
      case p: PercentileDisc if !p.reverse => shared(p.child, p.percentageExpression, p.frequencyExpression)
      case _ => None
    }
  }

  /** An aggregate function with its expression. */
  object Aggregated {
    def unapply(e: Expression): Option[(AggregateFunction, AggregateExpression)] = e match {
      case a: AggregateExpression => Some((a.aggregateFunction, a))
      case _ => None
    }
  }
}
