package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Expression.SortKey
import io.jumpgate.dataflow.Operator.JoinType
import io.jumpgate.dataflow.{Expression => Request, Measure, MeasureFunction, Operator, ScalarFunction}
import io.jumpgate.explain.{Code, Reason}
import java.util.Optional
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** Why a plan is not offloaded, and the operator that it is because of. */
final case class Refusal(node: LogicalPlan, reason: Reason)

/** A logical plan as a dataflow with the plan's columns in the plan's order; equal parts of the plan are shared. */
final class PlanTranslator(session: SparkSession) {
  private val scans = new ScanTranslator(session)
  private val known = mutable.HashMap[LogicalPlan, Operator]()
  private var sources = Seq.empty[LogicalRelation] // of the plan, the smallest first

  def apply(plan: LogicalPlan): Either[Refusal, Operator] =
    try {
      sources = plan.collectLeaves().collect { case r: LogicalRelation => r }.sortBy(_.relation.sizeInBytes)
      val root = translate(plan)
      plan.output.zip(root.schema.asScala).find { case (a, column) => !Values.fits(a.dataType, column.`type`) }.foreach { case (a, _) =>
        throw new Refused(Refusal(plan, new Reason(Code.TYPE, s"${a.name} is ${a.dataType.simpleString}")))
      }
      scala.util.Right(root)
    } catch { case refused: Refused => scala.util.Left(refused.refusal) }

  private def translate(plan: LogicalPlan): Operator = known.getOrElseUpdate(plan.canonicalized, once(plan))

  /** Spark asks about a plan, then about each part of it: the answers stay with the parts. */
  private def once(plan: LogicalPlan): Operator =
    plan.getTagValue(PlanTranslator.Answered).filter(_.of eq plan).map(_.answer).getOrElse {
      val answer = try scala.util.Right(operator(plan)) catch { case refused: Refused => scala.util.Left(refused.refusal) }
      plan.setTagValue(PlanTranslator.Answered, PlanTranslator.Answer(plan, answer))
      answer
    }.fold(refusal => throw new Refused(refusal), identity)

  private def operator(plan: LogicalPlan): Operator =
    try {
      plan.expressions.find(!_.deterministic).foreach(e =>
        NotOffloaded(Code.NONDETERMINISTIC, s"${e.sql} may give another value each time"))
      plan match {
        case r: LogicalRelation => scans(r)
        case r: DataSourceV2ScanRelation => scans(r)
        // one of Parquet or ORC becomes a relation of files, unless a setting of Spark's says otherwise
        case h: HiveTableRelation =>
          NotOffloaded(Code.FORMAT, s"rows of ${h.tableMeta.storage.serde.getOrElse("Hive tables")} are Spark's to read")
        case Pivoted(a) => instead(plan, a)
        case p: Project => project(translate(p.child), p.child.output, p.projectList)
        case f: Filter => filter(f)
        case Join(side, OneRow(row), _: InnerLike, condition, _) => besides(plan, side, row, condition, first = false)
        case Join(OneRow(row), side, _: InnerLike, condition, _) => besides(plan, side, row, condition, first = true)
        case j: Join => join(j)
        case DistinctTuples(a) => instead(plan, a)
        case a: Aggregate => new AggregateTranslator(a, translate(a.child)).operator
        case w: Window => new WindowTranslator(w, translate(w.child)).operator
        case s: Sort if s.global => translate(s.child).sort(sortKeys(s.order, scopeOf(s.child)).asJava)
        case l: GlobalLimit => limit(l)
        case l: LocalLimit => translate(l.child)
        case o: Offset => translate(o.child).limit(Long.MaxValue, literal(o.offsetExpr))
        case u: Union if !u.byName => union(u)
        case e: Expand => expand(e)
        case g: Generate => generate(g)
        case l: LocalRelation => rows(l.output, l.data.map(row => l.output.indices.map(i => row.get(i, l.output(i).dataType))))
        // a filter above it looks at the rank itself
        case w: WindowGroupLimit => translate(w.child)
        case s: SubqueryAlias => translate(s.child)
        case r: ReturnAnswer => translate(r.child)
        case other => NotOffloaded(Code.OPERATOR, s"${other.nodeName} is not offloaded")
      }
    } catch {
      case e: NotOffloaded => throw new Refused(Refusal(plan, e.reason))
    }

  /** Translates a plan of the same rows; the reason why it is not offloaded is that of the plan itself. */
  private def instead(plan: LogicalPlan, same: LogicalPlan): Operator =
    try translate(same)
    catch { case r: Refused if !plan.exists(_ eq r.refusal.node) => throw new NotOffloaded(r.refusal.reason) }

  private def scopeOf(plan: LogicalPlan): Scope = Scope.of(translate(plan), plan.output)

  private def project(child: Operator, input: Seq[Attribute], list: Seq[NamedExpression]): Operator = {
    val scope = Scope.of(child, input)
    Scope.project(child, list.map(e => e.name -> ExpressionTranslator.passed(e, scope)))
  }

  private def filter(f: Filter): Operator = {
    // what a join or a run-time filter repeats of its other side changes no answer
    val terms = ExpressionTranslator.conjuncts(f.condition).filterNot {
      case _: DynamicPruning | _: BloomFilterMightContain => true
      case _ => false
    }
    val child = translate(f.child)
    if (terms.isEmpty) child
    else child.filter(Values.and(terms.map(ExpressionTranslator(_, Scope.of(child, f.child.output)))))
  }

  private def literal(e: Expression): Long = e match {
    case Literal(n: Int, _) => n.toLong
    case _ => NotOffloaded(Code.LIMIT, s"${e.sql} is not a literal")
  }

  /** A sort below, or below a projection, becomes a top-n. */
  private def limit(l: GlobalLimit): Operator = {
    val count = literal(l.limitExpr)
    def below(plan: LogicalPlan): Option[Operator] = plan match {
      case LocalLimit(_, child) => below(child)
      case s: Sort if s.global => Some(topN(s, count, 0))
      case o: Offset =>
        o.child match {
          case s: Sort if s.global => Some(topN(s, count, literal(o.offsetExpr)))
          case child => Some(translate(child).limit(count, literal(o.offsetExpr)))
        }
      case p: Project => below(p.child).map(project(_, p.child.output, p.projectList))
      case _ => None
    }
    below(l.child).getOrElse(translate(l.child).limit(count, 0))
  }

  private def topN(s: Sort, count: Long, offset: Long): Operator =
    translate(s.child).topN(sortKeys(s.order, scopeOf(s.child)).asJava, count, offset)

  private def sortKeys(order: Seq[SortOrder], scope: Scope): Seq[SortKey] = Scope.sortKeys(order, scope)

  private def union(u: Union): Operator = {
    val members = u.children.map(translate)
    val types = u.output.map(a => Values.typeOf(a.dataType))
    members.foreach { member =>
      if (member.schema.asScala.map(_.`type`).zip(types).exists { case (a, b) => !a.same(b) })
        NotOffloaded(Code.TYPE, "the inputs of a union differ in their types")
    }
    Operator.unionAll(members.asJava)
  }

  /** One projection for each grouping set. */
  private def expand(e: Expand): Operator = {
    val child = translate(e.child)
    val scope = Scope.of(child, e.child.output)
    Operator.unionAll(e.projections.map { projection =>
      Scope.project(child, e.output.map(_.name).zip(projection.map(ExpressionTranslator.passed(_, scope))))
    }.asJava)
  }

  private def generate(g: Generate): Operator = g.generator match {
    case Explode(ListColumn(list, of)) => exploded(g, list)(element => Seq(of(element)))
    case Explode(MapColumn(map)) => exploded(g, map)(element => Seq(0, 1).map(Request.member(element, _)))
    case Inline(ListColumn(list, of)) => exploded(g, list)(element => g.generatorOutput.indices.map(Request.member(of(element), _)))
    case _ => generated(g)
  }

  /** A row for each element of a list or map; `columns`: what the generator makes of an element. */
  private def exploded(g: Generate, list: Expression)(columns: Value => Seq[Value]): Operator = {
    val child = if (g.outer) translate(g.child) else instead(g, Unfiltered(g.child, Seq(g.generator.children.head, list)))
    val rows = child.unnest(ExpressionTranslator.passed(list, Scope.of(child, g.child.output)), "e", g.outer)
    val scope = Scope.over(rows.schema.asScala.toSeq, g.child.output)
    val made = columns(rows.column(child.schema.size))
    Scope.project(rows, g.requiredChildOutput.map(a => a.name -> scope(a)) ++ g.generatorOutput.map(_.name).zip(made))
  }

  /** One projection for each row that a generator makes of every row. */
  private def generated(g: Generate): Operator = {
    val child = translate(g.child)
    val scope = Scope.of(child, g.child.output)
    val kept = g.requiredChildOutput.map(a => a.name -> scope(a))
    val made = Generated.rows(g.generator).getOrElse(
      NotOffloaded(Code.OPERATOR, s"${g.generator.prettyName} makes other rows than of so many expressions: ${g.generator.sql}"))
    Operator.unionAll(made.map { values =>
      Scope.project(child, kept ++ g.generatorOutput.zip(values).map { case (a, e) => a.name -> typed(ExpressionTranslator(e, scope), a) })
    }.asJava)
  }

  private def typed(value: Value, a: Attribute): Value = Values.cast(value, Values.typeOf(a.dataType))

  /** Rows of a query's text, as projections of the one row that an aggregate over no rows has. */
  private def rows(output: Seq[Attribute], data: Seq[Seq[Any]]): Operator = {
    if (data.isEmpty || data.size > PlanTranslator.RowsMax)
      NotOffloaded(Code.OPERATOR, s"${data.size} rows of a query's own are not sent, but 1 to ${PlanTranslator.RowsMax}")
    val source = sources.headOption.map(scans(_)).getOrElse(NotOffloaded(Code.OPERATOR, "there is no table of files beside a query's own rows"))
    val one = source.limit(0, 0).aggregate(Nil.asJava, Nil.asJava, Seq(new Measure(MeasureFunction.COUNT_STAR, Nil.asJava, "n")).asJava, Operator.Phase.FULL)
    Operator.unionAll(data.map { row =>
      Scope.project(one, output.zip(row).map { case (a, value) => a.name -> typed(Values.literal(value, a.dataType), a) })
    }.asJava)
  }

  // ---- joins

  /** A join with one row, or none, computes its values for every row of the other side; `first`: they are the left ones. */
  private def besides(
      plan: LogicalPlan, side: LogicalPlan, row: OneRow, condition: Option[Expression], first: Boolean): Operator = {
    val child = translate(side)
    val own = side.output.indices.map(i => side.output(i).name -> child.column(i))
    val scope = Scope.of(child, side.output)
    val added = row.values.map(e => e.name -> ExpressionTranslator(e, scope))
    val joined = Scope.project(child, if (first) added ++ own else own ++ added)
    val terms = row.condition.toSeq ++ condition
    if (terms.isEmpty) joined
    else joined.filter(Values.and(terms.map(ExpressionTranslator(_, Scope.of(joined, plan.output)))))
  }

  private def join(j: Join): Operator = {
    val (left, right) = (translate(j.left), translate(j.right))
    j.joinType match {
      case LeftAnti if nullAware(j.condition) => notIn(j, left, right)
      case ExistenceJoin(_) =>
        val marked = matched(j, left, right, JoinType.MARK, j.condition)
        val columns = j.left.output.indices.map(i => j.left.output(i).name -> marked.column(i))
        val exists = ScalarFunction.COALESCE.of(marked.column(columns.size), Request.bool(false))
        Scope.project(marked, columns :+ ("exists" -> exists))
      case _ =>
        val kind = j.joinType match {
          case _: InnerLike => JoinType.INNER
          case LeftOuter => JoinType.LEFT
          case RightOuter => JoinType.RIGHT
          case FullOuter => JoinType.FULL
          case LeftSemi => JoinType.SEMI
          case LeftAnti => JoinType.ANTI
          case other => NotOffloaded(Code.JOIN, s"a ${other.sql} join is not offloaded")
        }
        matched(j, left, right, kind, j.condition)
    }
  }

  private def nullAware(condition: Option[Expression]): Boolean = condition match {
    case Some(Or(a: EqualTo, IsNull(b))) => a.semanticEquals(b)
    case _ => false
  }

  /** SQL's NOT IN: only where it is certain that there is no partner. */
  private def notIn(j: Join, left: Operator, right: Operator): Operator = {
    val Some(Or(equal, _)) = j.condition: @unchecked
    val marked = matched(j, left, right, JoinType.MARK, Some(equal))
    val kept = marked.filter(ScalarFunction.NOT.of(marked.column(j.left.output.size)))
    Scope.project(kept, j.left.output.indices.map(i => j.left.output(i).name -> kept.column(i)))
  }

  private def matched(j: Join, left: Operator, right: Operator, kind: JoinType, condition: Option[Expression]): Operator = {
    val (leftScope, rightScope) = (Scope.of(left, j.left.output), Scope.of(right, j.right.output))
    def of(side: LogicalPlan, e: Expression) = e.references.nonEmpty && e.references.subsetOf(side.outputSet)
    def sides(a: Expression, b: Expression): Option[(Value, Value)] =
      if (of(j.left, a) && of(j.right, b)) Some((ExpressionTranslator(a, leftScope), ExpressionTranslator(b, rightScope)))
      else if (of(j.left, b) && of(j.right, a)) Some((ExpressionTranslator(b, leftScope), ExpressionTranslator(a, rightScope)))
      else None
    val terms = condition.toSeq.flatMap(ExpressionTranslator.conjuncts)
    val keys = terms.map {
      case EqualTo(a, b) => sides(a, b).map(pair => Seq(Values.common(pair._1, pair._2)))
      case EqualNullSafe(a, b) =>
        sides(a, b).map(pair => Values.sameOrBothNull(pair._1, pair._2, a.dataType))
      case _ => None
    }
    val rest = terms.zip(keys).collect { case (term, None) => term }
    val pairs = keys.flatten.flatten
    val both = Scope.over(left.pairedWith(right).asScala.toSeq, j.left.output ++ j.right.output)
    val residual = if (rest.isEmpty) None else Some(Values.and(rest.map(ExpressionTranslator(_, both))))
    left.join(right, kind, pairs.map(_._1).asJava, pairs.map(_._2).asJava, residual.fold(Optional.empty[Value])(Optional.of(_)))
  }
}

private object PlanTranslator {
  /** Of rows that a query has itself. */
  private val RowsMax = 32

  /** Of one plan: a tag goes along to copies, which may have other children. */
  final case class Answer(of: LogicalPlan, answer: Either[Refusal, Operator])

  val Answered: TreeNodeTag[Answer] = TreeNodeTag[Answer]("jumpgate.translated")
}

/** What `SELECT 1, 2` gives, or scalar subqueries side by side, if the condition holds. */
private final case class OneRow(values: Seq[NamedExpression], condition: Option[Expression])

private object OneRow {
  def unapply(plan: LogicalPlan): Option[OneRow] = plan match {
    case Project(list, child) if list.forall(_.deterministic) =>
      child match {
        case OneRowRelation() => Some(OneRow(list, None))
        case Filter(condition, OneRowRelation()) if condition.deterministic => Some(OneRow(list, Some(condition)))
        case _ => None
      }
    case SubqueryAlias(_, child) => unapply(child)
    case _ => None
  }
}

/** A refusal on its way up. */
private final class Refused(val refusal: Refusal) extends RuntimeException(refusal.reason.toString, null, false, false)
