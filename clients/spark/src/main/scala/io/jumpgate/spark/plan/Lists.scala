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
    case GetArrayItem(list, i, fails) => Some(item(passed(list), Values.cast(in(i), JumpgateType.INT64), fails))
    case e: ElementAt if e.left.dataType.isInstanceOf[ArrayType] && e.defaultValueOutOfBound.isEmpty =>
      Some(element(passed(e.left), Values.cast(in(e.right), JumpgateType.INT64), e.failOnError))
    case _ => made(expression)
  }

  private def made(expression: Expression): Option[Value] = Option(expression match {
    case ArrayDistinct(list) if Lists.isOrdered(list) => ScalarFunction.LIST_DISTINCT.of(passed(list))
    case ArrayUnion(a, b) if Lists.isOrdered(a) => ScalarFunction.LIST_DISTINCT.of(ScalarFunction.LIST_CONCAT.of(passed(a), passed(b)))
    case ArrayIntersect(a, b) if Lists.isOrdered(a) => ScalarFunction.LIST_INTERSECT.of(passed(a), passed(b))
    case ArrayExcept(a, b) if Lists.isOrdered(a) => ScalarFunction.LIST_EXCEPT.of(passed(a), passed(b))
    case SortArray(list, Literal(ascending: Boolean, _)) if Lists.isOrdered(list) => sorted(passed(list), !ascending, nullsFirst = ascending)
    case ArraySort(list, comparator, _) if Lists.isOrdered(list) && Lists.isPlain(comparator) =>
      sorted(passed(list), descending = false, nullsFirst = false)
    case Slice(list, start, length) =>
      ScalarFunction.LIST_SLICE.of(passed(list), Values.cast(in(start), JumpgateType.INT64), Values.cast(in(length), JumpgateType.INT64))
    case Concat(lists) if lists.nonEmpty && lists.forall(_.dataType.isInstanceOf[ArrayType]) => ScalarFunction.LIST_CONCAT.of(lists.map(passed): _*)
    case ArrayJoin(list, separator, other) if Lists.isOfText(list) =>
      ScalarFunction.LIST_JOIN.of(passed(list) +: in(separator) +: other.map(in).toSeq: _*)
    case Flatten(lists) =>
      val all = passed(lists)
      val isIncomplete = ScalarFunction.LT.of(ScalarFunction.LIST_COUNT.of(all), ScalarFunction.CARDINALITY.of(all))
      val flat = ScalarFunction.FLATTEN.of(all)
      Values.caseWhen(Seq((isIncomplete, Request.nullOf(flat.dataType))), flat)
    case MapKeys(map) => ScalarFunction.MAP_KEYS.of(passed(map))
    case MapValues(map) => ScalarFunction.MAP_VALUES.of(passed(map))
    case MapFromArrays(keys, values) if Lists.isOrdered(keys) => ScalarFunction.MAP_OF.of(passed(keys), passed(values))
    case e: CreateMap if e.keys.nonEmpty && e.keys.size <= Values.PartsMax && Lists.isKey(e.keys.head) =>
      ScalarFunction.MAP_OF.of(ScalarFunction.LIST_OF.of(e.keys.map(passed): _*), ScalarFunction.LIST_OF.of(e.values.map(passed): _*))
    case CreateArray(values, _) if values.nonEmpty && values.size <= Values.PartsMax => ScalarFunction.LIST_OF.of(values.map(passed): _*)
    case e: CreateNamedStruct if e.valExprs.nonEmpty && e.valExprs.size <= Values.PartsMax =>
      Values.cast(ScalarFunction.STRUCT_OF.of(e.valExprs.map(passed): _*), Values.typeOf(e.dataType))
    case ArraysZip(lists, _) if lists.nonEmpty && lists.size <= Values.PartsMax =>
      Values.cast(ScalarFunction.LIST_ZIP.of(lists.map(passed): _*), Values.typeOf(expression.dataType))
    case _ => null
  })

  private def sorted(list: Value, descending: Boolean, nullsFirst: Boolean): Value =
    ScalarFunction.LIST_SORT.of(list, Request.bool(descending), Request.bool(nullsFirst))

  /** The element behind `i` others. */
  private def item(list: Value, i: Value, fails: Boolean): Value = {
    val place = ScalarFunction.ADD.of(i, Values.long(1))
    if (fails) ScalarFunction.LIST_SUBSCRIPT.of(list, place)
    else {
      val found = ScalarFunction.ELEMENT_AT.of(list, place)
      Values.caseWhen(Seq((ScalarFunction.GE.of(i, Values.long(0)), found)), Request.nullOf(found.dataType))
    }
  }

  /** The n-th element, or an error where there can be none, or an array has fewer. */
  private def element(list: Value, n: Value, fails: Boolean): Value = {
    val found = ScalarFunction.ELEMENT_AT.of(list, n)
    val size = ScalarFunction.CARDINALITY.of(list)
    val isNone = ScalarFunction.EQ.of(n, Values.long(0))
    val isMissing = if (fails) ScalarFunction.OR.of(isNone, ScalarFunction.LT.of(size, ScalarFunction.ABS.of(n))) else isNone
    val failing = ScalarFunction.AND.of(isMissing, AggregateTranslator.fails(ScalarFunction.ADD.of(size, Values.long(1))))
    Values.caseWhen(Seq((failing, Request.nullOf(found.dataType))), found)
  }
}

private object Lists {
  /** Whether values are compared, and one of equal ones is as good as another: Spark knows 0 from -0. */
  private def isKey(dataType: DataType): Boolean = !Values.isNested(dataType) && dataType != FloatType && dataType != DoubleType

  private def isKey(value: Expression): Boolean = isKey(value.dataType)

  private def isOfText(list: Expression): Boolean = list.dataType match {
    case ArrayType(StringType, _) => true
    case _ => false
  }

  /** Whether elements are compared by the order that they have, NULL last. */
  private def isPlain(comparator: Expression): Boolean = comparator match {
    case LambdaFunction(body, Seq(a: NamedLambdaVariable, b: NamedLambdaVariable), _) =>
      val ofKnown = If(LessThan(a, b), Literal(-1), If(GreaterThan(a, b), Literal(1), Literal(0)))
      body.semanticEquals(ArraySort.comparator(a, b)) || body.semanticEquals(ofKnown)
    case _ => false
  }

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
    if (c.distinct && !isKey(c.values.dataType)) NotOffloaded(Code.AGGREGATE, s"values that differ are Spark's own: ${c.of.sql}")

  /** Of several lists whose elements at one place are of one row, one may have elements that are not ordered. */
  def requireOrdered(together: Seq[Value]): Unit =
    if (together.size > 1 && together.count(_.dataType.isInstanceOf[JumpgateType.Nested]) > 1)
      NotOffloaded(Code.AGGREGATE, "several arrays of structs, arrays or maps, whose elements at one place are of one row")

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
    case Some(_) if value.dataType.isInstanceOf[JumpgateType.Nested] => NotOffloaded(Code.AGGREGATE, s"values are Spark's to order: ${c.of.sql}")
    case Some(ascending) => Seq(new SortKey(value, !ascending, false))
    case None if c.distinct || together.size < 2 => Nil
    case None => together.filterNot(_.dataType.isInstanceOf[JumpgateType.Nested]).map(new SortKey(_, false, false))
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
