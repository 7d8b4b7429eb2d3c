package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{Expression => Request}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, MapType}

/** A pivot's projection of the array that [[PivotFirst]] makes, as one aggregate whose values are items of it. */
private object Pivoted {
  def unapply(plan: LogicalPlan): Option[Aggregate] = plan match {
    case Project(list, a: Aggregate) if a.aggregateExpressions.exists(_.exists(_.isInstanceOf[PivotFirst])) =>
      val values = AttributeMap(a.aggregateExpressions.collect { case made: Alias => made.toAttribute -> made.child })
      def of(e: NamedExpression): NamedExpression = e match {
        case attribute: Attribute => values.get(attribute).fold[NamedExpression](attribute)(Alias(_, attribute.name)(attribute.exprId))
        case other => other.transform { case attribute: Attribute => values.getOrElse(attribute, attribute) }.asInstanceOf[NamedExpression]
      }
      Some(Aggregate(a.groupingExpressions, list.map(of), a.child))
    case _ => None
  }
}

/** An aggregate that counts distinct tuples of several values only, as a count over the tuples, which an aggregate below it makes. */
private object DistinctTuples {
  def unapply(plan: LogicalPlan): Option[Aggregate] = plan match {
    case a: Aggregate =>
      val found = a.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).map(_.canonicalized).distinct
      found match {
        case Seq(AggregateExpression(Count(several), _, true, None, _)) if several.size > 1 => Some(over(a))
        case _ => None
      }
    case _ => None
  }

  private def over(a: Aggregate): Aggregate = {
    val counted = a.aggregateExpressions.flatMap(_.collectFirst { case AggregateExpression(Count(several), _, _, _, _) => several }).head
    val keys = (a.groupingExpressions ++ counted).foldLeft(Seq[Expression]())((all, e) => if (all.exists(_.semanticEquals(e))) all else all :+ e)
    val named = keys.map {
      case attribute: Attribute => attribute
      case other => Alias(other, "k")()
    }
    def attribute(e: Expression): Option[Attribute] = keys.indexWhere(_.semanticEquals(e)) match {
      case -1 => None
      case i => Some(named(i).toAttribute)
    }
    def of(e: Expression): Expression = e match {
      case x @ AggregateExpression(Count(several), _, _, _, _) =>
        x.copy(aggregateFunction = Count(several.map(v => attribute(v).getOrElse(v))), isDistinct = false)
      case other => attribute(other).getOrElse(other.mapChildren(of))
    }
    val tuples = Aggregate(keys, named, a.child)
    Aggregate(a.groupingExpressions.map(g => attribute(g).getOrElse(g)), a.aggregateExpressions.map(kept(_, of)), tuples)
  }

  /** With its name and number. */
  private def kept(e: NamedExpression, of: Expression => Expression): NamedExpression = e match {
    case attribute: Attribute =>
      of(attribute) match {
        case same: Attribute if same.exprId == attribute.exprId => same
        case other => Alias(other, attribute.name)(attribute.exprId)
      }
    case other => other.mapChildren(of).asInstanceOf[NamedExpression]
  }
}

/** A list that rows have, a column, a field of one or the parts of a text, and what of each of its elements is meant. */
private object ListColumn {
  def unapply(e: Expression): Option[(Expression, Value => Value)] = e match {
    case GetArrayStructFields(ListColumn(list, of), _, ordinal, _, _) => Some((list, element => Request.member(of(element), ordinal)))
    case SplitText(_, _, _) => Some((e, identity[Value]))
    case _ if e.dataType.isInstanceOf[ArrayType] && isColumn(e) => Some((e, identity[Value]))
    case _ => None
  }

  def isColumn(e: Expression): Boolean = e match {
    case _: Attribute => true
    case g: GetStructField => isColumn(g.child)
    case _ => false
  }
}

/** A map that rows have, a column or a field of one. */
private object MapColumn {
  def unapply(e: Expression): Option[Expression] =
    if (e.dataType.isInstanceOf[MapType] && ListColumn.isColumn(e)) Some(e) else None
}

/** A plan without the conditions that Spark infers of a list whose elements become rows: that it has some. */
private object Unfiltered {
  def apply(plan: LogicalPlan, lists: Seq[Expression]): LogicalPlan = plan match {
    case Filter(condition, child) =>
      val rest = ExpressionTranslator.conjuncts(condition).filterNot {
        case GreaterThan(Size(e, _), Literal(0, _)) => lists.exists(_.semanticEquals(e))
        case _ => false
      }
      rest.reduceOption(And(_, _)).fold(child)(Filter(_, child))
    case p: Project =>
      val values = AttributeMap(p.projectList.collect { case a: Alias => a.toAttribute -> a.child })
      def below(e: Expression) = e.transform { case a: Attribute => values.getOrElse(a, a) }
      p.copy(child = apply(p.child, lists.map(below)))
    case other => other
  }
}

/** Generators that make a fixed number of rows of expressions, of each row. */
private object Generated {
  private val RowsMax = 64

  /** The values of each row; none for other generators. */
  def rows(generator: Generator): Option[Seq[Seq[Expression]]] = (generator match {
    case Explode(elements) => items(elements).map(_.map(Seq(_)))
    case PosExplode(elements) => items(elements).map(_.zipWithIndex.map { case (e, i) => Seq(Literal(i), e) })
    case Stack(Literal(n: Int, _) +: values) => Some(stacked(n, values))
    case _ => None
  }).filter(found => found.nonEmpty && found.size <= RowsMax)

  private def items(array: Expression): Option[Seq[Expression]] = array match {
    case CreateArray(elements, _) => Some(elements)
    case Literal(data: ArrayData, ArrayType(element, _)) =>
      Some((0 until data.numElements()).map(i => Literal(if (data.isNullAt(i)) null else data.get(i, element), element)))
    case _ => None
  }

  private def stacked(n: Int, values: Seq[Expression]): Seq[Seq[Expression]] = {
    val width = (values.size + n - 1) / n
    val types = values.take(width).map(_.dataType)
    (0 until n).map(row => (0 until width).map(i => values.lift(row * width + i).getOrElse(Literal(null, types(i)))))
  }
}
