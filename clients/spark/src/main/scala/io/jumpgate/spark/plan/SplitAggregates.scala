package io.jumpgate.spark.plan

import io.jumpgate.spark.Settings
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types._

/**
 * An aggregate over a union of which a part stays with Spark: Jumpgate groups the parts that it can, and Spark adds their groups to the
 * rows of the rest. A union that can be offloaded whole is left alone.
 */
final class SplitAggregates(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val conf = session.sessionState.conf
    if (!Settings.Enabled(conf) || Settings.Offload(conf) == "never" || plan.isStreaming) plan
    else plan.transformUp { case a: Aggregate => split(a).getOrElse(a) }
  }

  private def split(a: Aggregate): Option[Aggregate] = a.child match {
    case u: Union if !u.byName && SplitAggregates.canSplit(a) && !isOffloaded(a) =>
      val split = new SplitAggregate(a, u)
      val parts = u.children.map { part =>
        val grouped = split.grouped(part)
        if (isOffloaded(grouped)) grouped else split.rows(part)
      }
      if (parts.exists(_.isInstanceOf[Aggregate])) Some(split.merged(parts)) else None
    case _ => None
  }

  private def isOffloaded(plan: LogicalPlan): Boolean = new PlanTranslator(session)(plan).isRight
}

object SplitAggregates {
  /** Of what Spark says is decimal, sums have ten digits more: so many rows there are not, and none overflows. */
  private val DecimalDigits = DecimalType.MAX_PRECISION - 10

  private def canSplit(a: Aggregate): Boolean = a.aggregateExpressions.forall(_.collect { case e: AggregateExpression => e }.forall { e =>
    !e.isDistinct && (e.aggregateFunction match {
      case s: Sum => s.prettyName == "sum" && isAdded(s.child.dataType)
      case m: Average => m.prettyName == "avg" && isAdded(m.child.dataType)
      case _: Count | _: Min | _: Max => true
      case _ => false
    })
  })

  private def isAdded(dataType: DataType): Boolean = dataType match {
    case d: DecimalType => d.precision <= DecimalDigits
    case other => other.isInstanceOf[NumericType]
  }
}

/** Each function is merged from columns: `grouped`, of the rows of a group, and `single`, of one row. */
private final case class Column(grouped: AggregateFunction, single: Expression)

private final class SplitAggregate(a: Aggregate, union: Union) {
  private val keys = a.groupingExpressions
  private val functions =
    a.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).groupBy(_.canonicalized).values.map(_.head).toSeq
  private val columns = functions.flatMap(e => columnsOf(e).map(e -> _))

  /** A part's groups. */
  def grouped(part: LogicalPlan): LogicalPlan = {
    val of = ofPart(part) _
    val named = keys.map(of)
    val measures = columns.map { case (e, column) =>
      AggregateExpression(column.grouped, Complete, isDistinct = false, e.filter)
    }
    Aggregate(named, (named ++ measures.map(of)).map(alias), part)
  }

  /** A part's rows, in the columns of groups. */
  def rows(part: LogicalPlan): LogicalPlan = {
    val singles = columns.map { case (e, column) =>
      e.filter.fold(column.single)(If(_, column.single, Literal.create(null, column.single.dataType)))
    }
    Project((keys ++ singles).map(e => alias(ofPart(part)(e))), part)
  }

  /** The aggregate's result, of what its parts give. */
  def merged(parts: Seq[LogicalPlan]): Aggregate = {
    val below = Union(parts)
    val (groups, measures) = below.output.splitAt(keys.size)
    val results = columns.zip(measures).groupBy(_._1._1.canonicalized).map { case (function, found) =>
      function -> merge(found.head._1._1.aggregateFunction, found.map(_._2))
    }
    def result(e: Expression): Expression = e match {
      case function: AggregateExpression => results(function.canonicalized)
      case _ =>
        keys.indexWhere(_.semanticEquals(e)) match {
          case -1 => e.mapChildren(result)
          case i => groups(i)
        }
    }
    val list = a.aggregateExpressions.map { e =>
      val value = e match {
        case Alias(child, _) => child
        case other => other
      }
      Alias(result(value), e.name)(exprId = e.exprId, qualifier = e.qualifier, explicitMetadata = Some(e.metadata))
    }
    Aggregate(groups, list, below)
  }

  private def columnsOf(e: AggregateExpression): Seq[Column] = e.aggregateFunction match {
    case s: Sum => Seq(Column(s, Cast(s.child, s.dataType)))
    case m: Average =>
      val added = Cast(m.child, sumType(m))
      Seq(Column(new Sum(added), Cast(added, new Sum(added).dataType)), Column(Count(m.child), counted(Seq(m.child))))
    case c: Count => Seq(Column(c, counted(c.children)))
    case m: Min => Seq(Column(m, m.child))
    case m: Max => Seq(Column(m, m.child))
    case other => throw new IllegalArgumentException(other.prettyName)
  }

  private def merge(function: AggregateFunction, from: Seq[Attribute]): Expression = function match {
    case s: Sum => Cast(sum(from.head), s.dataType)
    case m: Average =>
      // as Spark computes it from its own two
      val Seq(added, count) = m.aggBufferAttributes
      m.evaluateExpression.transform {
        case b: Attribute if b.exprId == added.exprId => Cast(sum(from.head), added.dataType)
        case b: Attribute if b.exprId == count.exprId => total(from(1))
      }
    case _: Count => total(from.head)
    case m: Min => m.copy(child = from.head).toAggregateExpression()
    case m: Max => m.copy(child = from.head).toAggregateExpression()
    case other => throw new IllegalArgumentException(other.prettyName)
  }

  /** What a mean adds: decimals as they are, else floats. */
  private def sumType(m: Average): DataType = m.child.dataType match {
    case d: DecimalType => d
    case _ => DoubleType
  }

  private def sum(e: Expression): Expression = new Sum(e).toAggregateExpression()

  private def total(counts: Expression): Expression = Coalesce(Seq(sum(counts), Literal(0L)))

  private def counted(es: Seq[Expression]): Expression =
    es.filter(_.nullable).map(IsNull(_): Expression).reduceOption(Or(_, _)).fold[Expression](Literal(1L))(If(_, Literal(0L), Literal(1L)))

  private def alias(e: Expression): NamedExpression = Alias(e, "p")()

  private def ofPart(part: LogicalPlan)(e: Expression): Expression = {
    val mine = AttributeMap(union.output.zip(part.output))
    e.transform { case attribute: Attribute => mine.getOrElse(attribute, attribute) }
  }
}
