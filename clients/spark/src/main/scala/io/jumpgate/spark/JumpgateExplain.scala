package io.jumpgate.spark

import io.jumpgate.explain.Coverage
import io.jumpgate.spark.exec.JumpgateExec
import io.jumpgate.spark.plan.{JumpgateStrategy, Summary}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.{ColumnarToRowExec, InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.jumpgate.Shims
import scala.jdk.CollectionConverters._

/** Extends EXPLAIN by what is offloaded, and the reasons for the rest. */
final class JumpgateExplain extends Shims.ExplainGenerator {
  override def title: String = "Jumpgate"

  override def generateExtendedInfo(plan: SparkPlan): String = JumpgateExplain.coverage(plan).text
}

object JumpgateExplain {
  /** Of a query's physical plan, its subqueries included. */
  def coverage(plan: SparkPlan): Coverage = {
    val nodes = below(plan)
    val offloaded = nodes.collect { case n: JumpgateExec => Summary.operators(n.logical).size }.sum
    val rest = nodes.filter(counts)
    val refused = rest.flatMap(_.logicalLink).distinct.flatMap(link =>
      link.collect { case p: LogicalPlan if p.getTagValue(JumpgateStrategy.Refused).isDefined => p })
    val stays = refused.map(p => new Coverage.Stay(p.nodeName, p.getTagValue(JumpgateStrategy.Refused).get))
    new Coverage(offloaded, offloaded + rest.size, stays.asJava)
  }

  private def below(plan: SparkPlan): Seq[SparkPlan] = {
    val children = plan match {
      case a: AdaptiveSparkPlanExec => Seq(a.executedPlan)
      case q: QueryStageExec => Seq(q.plan)
      case _: ReusedExchangeExec => Nil
      case other => other.children
    }
    plan +: (children ++ plan.subqueries).flatMap(below)
  }

  /** What only moves or converts rows is not an operator of the query. */
  private def counts(plan: SparkPlan): Boolean = plan match {
    case _: JumpgateExec | _: AdaptiveSparkPlanExec | _: QueryStageExec | _: Exchange | _: ReusedExchangeExec => false
    case _: ColumnarToRowExec | _: InputAdapter | _: WholeStageCodegenExec => false
    case other => !other.getClass.getSimpleName.startsWith("Subquery")
  }
}
