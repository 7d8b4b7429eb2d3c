package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Expression.SortKey
import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, MeasureFunction, ScalarFunction}
import io.jumpgate.explain.Code
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Generate, LogicalPlan, Sort}
import org.apache.spark.sql.types._

/** Functions that make arrays, or look into them; `passed`: the value of an array or a map. */
private final class Lists(in: Expression => Value, passed: Expression => Value) {
  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] = expression match {
    case SplitText(s, separator, limit) =>
      val most = if (limit > 0) Seq(Values.long(limit)) else Nil
      Some(ScalarFunction.SPLIT.of(Seq(in(s), Request.string(separator)) ++ most: _*))
    case Size(list, minusOne) =>
      val size = Values.cast(ScalarFunction.CARDINALITY.of(passed(list)), JumpgateType.INT32)
      Some(if (minusOne) ScalarFunction.COALESCE.of(size, Values.integer(-1)) else size)
    case ArrayContains(list, value) if !Values.isNested(value.dataType) =>
      Some(ScalarFunction.LIST_CONTAINS.of(passed(list), in(value)))
    case ArrayPosition(list, value) if !Values.isNested(value.dataType) => Some(ScalarFunction.LIST_POSITION.of(passed(list), in(value)))
    case GetMapValue(map, key) if Lists.isKey(key) => Some(ScalarFunction.MAP_VALUE.of(passed(map), in(key)))
    case e: ElementAt if e.left.dataType.isInstanceOf[MapType] && Lists.isKey(e.right) =>
      Some(ScalarFunction.MAP_VALUE.of(passed(e.left), in(e.right)))
    case ArrayMin(list) if Lists.isOrdered(list) => Some(ScalarFunction.LIST_MIN.of(passed(list)))
    case ArrayMax(list) if Lists.isOrdered(list) => Some(ScalarFunction.LIST_MAX.of(passed(list)))
    case GetArrayItem(list, Literal(i: Int, _), fails) if i >= 0 => Some(element(passed(list), i + 1L, fails))
    case e: ElementAt if e.left.dataType.isInstanceOf[ArrayType] && e.defaultValueOutOfBound.isEmpty =>
      e.right match {
        case Literal(n: Int, _) if n != 0 => Some(element(passed(e.left), n.toLong, e.failOnError))
        case _ => None
      }
    case _ => None
  }

  /** The n-th element, or an error where an array has fewer. */
  private def element(list: Value, n: Long, fails: Boolean): Value = {
    val found = ScalarFunction.ELEMENT_AT.of(list, Values.long(n))
    if (!fails) found
    else {
      val size = ScalarFunction.CARDINALITY.of(list)
      val isMissing = ScalarFunction.AND.of(ScalarFunction.LT.of(size, Values.long(n.abs)), AggregateTranslator.fails(size))
      Values.caseWhen(Seq((isMissing, Request.nullOf(found.dataType))), found)
    }
  }
}

private object Lists {
  /** Whether values are compared, and one of equal ones is as good as another: Spark knows 0 from -0. */
  private def isKey(dataType: DataType): Boolean = !Values.isNested(dataType) && dataType != FloatType && dataType != DoubleType

  private def isKey(value: Expression): Boolean = isKey(value.dataType)

  private def isOrdered(list: Expression): Boolean = list.dataType match {
    case ArrayType(of, _) => isKey(of)
    case _ => false
  }

  /** Arrays of the values of a group: the values, whether they are distinct, and an order if the query gives one. */
  final case class Collected(values: Expression, distinct: Boolean, of: AggregateExpression, order: Option[Boolean])

  object Collected {
    def unapply(e: Expression): Option[Collected] = e match {
      case SortArray(Measures.Aggregated(f, a), Literal(ascending: Boolean, _)) => collected(f, a, Some(ascending))
      case Measures.Aggregated(f, a) => collected(f, a, None)
      case _ => None
    }

    private def collected(f: AggregateFunction, a: AggregateExpression, order: Option[Boolean]): Option[Collected] = f match {
      case list: CollectList if skipsNulls(list) => Some(Collected(list.child, a.isDistinct, a, order))
      case set: CollectSet if skipsNulls(set) => Some(Collected(set.child, distinct = true, a, order))
      case _ => None
    }

    /** As it does where there is no choice. */
    private def skipsNulls(f: Collect[_]): Boolean = f.productIterator.drop(3).forall(_ == true)
  }

  /** Spark knows 0 from -0 in a set. */
  def requireComparable(c: Collected): Unit =
    if (c.distinct && Seq(FloatType, DoubleType).contains(c.values.dataType)) NotOffloaded(Code.AGGREGATE, s"floats that differ are Spark's own: ${c.of.sql}")

  /** Rows that come in an order: what Spark collects of them has that order if no other partition has rows of a group. */
  def requireNoOrder(c: Collected, child: LogicalPlan): Unit =
    if (!c.distinct && c.order.isEmpty && child.exists(p => p.isInstanceOf[Sort] || p.isInstanceOf[Generate]))
      NotOffloaded(Code.AGGREGATE, s"${c.of.sql} of rows that a sort or a generator puts in an order")

  def function(c: Collected): MeasureFunction =
    if (c.distinct) MeasureFunction.COLLECT_LIST_DISTINCT else MeasureFunction.COLLECT_LIST

  /**
   * The order of a list. Where the query gives none, that of all its such lists together: elements at one place are of one row, as they
   * are in Spark.
   */
  def order(c: Collected, value: Value, together: Seq[Value]): Seq[SortKey] = c.order match {
    case Some(ascending) => Seq(new SortKey(value, !ascending, false))
    case None if c.distinct || together.size < 2 => Nil
    case None => together.map(new SortKey(_, false, false))
  }
}

/** `split` of a text by a text that is some, and the most parts; all if it is not positive. */
private object SplitText {
  def unapply(e: Expression): Option[(Expression, String, Long)] = e match {
    case StringSplit(s, Text(pattern), Literal(limit: Int, _)) if s.dataType == StringType =>
      Functions.separator(pattern).map((s, _, limit.toLong))
    case _ => None
  }
}
