package io.jumpgate.spark.plan

import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** What an offloaded part of a plan does, in a line. */
object Summary {
  def of(plan: LogicalPlan): String = {
    val kinds = operators(plan).map(kind)
    kinds.distinct.map(k => if (kinds.count(_ == k) == 1) k else s"${kinds.count(_ == k)} × $k").mkString(", ")
  }

  /** Its operators, those aside that say nothing of their own. */
  def operators(plan: LogicalPlan): Seq[LogicalPlan] = plan.collect {
    case p if !p.isInstanceOf[ReturnAnswer] && !p.isInstanceOf[LocalLimit] && !p.isInstanceOf[SubqueryAlias] => p
  }

  private def kind(plan: LogicalPlan): String = plan match {
    case r: LogicalRelation =>
      r.relation match {
        case files: HadoopFsRelation => s"scan of ${files.fileFormat.toString.toLowerCase}"
        case _ => "scan"
      }
    case r: DataSourceV2ScanRelation => s"scan of ${r.relation.table.name}"
    case j: Join =>
      j.joinType match {
        case _: ExistenceJoin => "existence join" // which has no SQL
        case other => s"${other.sql.toLowerCase} join"
      }
    case _: GlobalLimit => "limit"
    case _: OneRowRelation => "single row"
    case _: LocalRelation => "rows of the query"
    case other => other.nodeName.toLowerCase
  }
}
