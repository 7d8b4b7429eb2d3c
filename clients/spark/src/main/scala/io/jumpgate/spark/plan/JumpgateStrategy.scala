package io.jumpgate.spark.plan

import io.jumpgate.explain.Reason
import io.jumpgate.spark.Settings
import io.jumpgate.spark.exec.JumpgateExec
import org.apache.spark.sql.catalyst.expressions.{Attribute, InputFileBlockLength, InputFileBlockStart, InputFileName, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.jumpgate.Shims.SparkSession

/** Plans the largest parts of a query that one request can say. Spark asks it first, for every operator from the root down. */
final class JumpgateStrategy(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    val conf = session.sessionState.conf
    if (!Settings.Enabled(conf) || Settings.Offload(conf) == "never" || !JumpgateStrategy.mayHold(plan)) Nil
    else if (plan.getTagValue(JumpgateStrategy.Declined).isDefined) Nil
    else plan.getTagValue(JumpgateStrategy.Planned).map(Seq(_)).getOrElse(offloaded(plan))
  }

  private def offloaded(plan: LogicalPlan): Seq[SparkPlan] =
    new PlanTranslator(session)(plan) match {
      case Right(root) =>
        Decision.against(session, plan, root) match {
          case Some(reason) =>
            // nor is a part of it worth it
            plan.foreach(_.setTagValue(JumpgateStrategy.Declined, ()))
            refuse(plan, reason)
            Nil
          case None =>
            val node = JumpgateExec.of(plan, root)
            plan.setTagValue(JumpgateStrategy.Planned, node)
            Seq(node)
        }
      case Left(Refusal(node, reason)) =>
        refuse(node, reason)
        if (!(node eq plan)) Nil
        else if (JumpgateStrategy.needsSparkScans(plan)) {
          plan.foreach(_.setTagValue(JumpgateStrategy.Declined, ()))
          Nil
        } else narrowed(plan)
    }

  /** Operators of Spark's plan point to the logical ones that they compute, which the mark of a query's root is not. */
  private def refuse(plan: LogicalPlan, reason: Reason): Unit = plan match {
    case root: ReturnAnswer => refuse(root.child, reason)
    case other => other.setTagValue(JumpgateStrategy.Refused, reason)
  }

  /** A projection that stays with Spark takes only the columns that it needs. */
  private def narrowed(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Project(list, child) if !list.forall(_.isInstanceOf[Attribute]) =>
      val needed = child.output.filter(list.map(_.references).reduceOption(_ ++ _).getOrElse(child.outputSet).contains)
      if (needed.isEmpty || needed.size == child.output.size) Nil
      else Seq(ProjectExec(list, planLater(Project(needed: Seq[NamedExpression], child))))
    case _ => Nil
  }
}

object JumpgateStrategy {
  /** Decisions stay what they were: adaptive execution plans a query several times. */
  private val Planned = TreeNodeTag[JumpgateExec]("jumpgate.planned")

  private val Declined = TreeNodeTag[Unit]("jumpgate.declined")

  /** Why an operator stays with Spark. */
  val Refused: TreeNodeTag[Reason] = TreeNodeTag[Reason]("jumpgate.refused")

  /** Whether its values depend on which file, or which of Spark's partitions, a row below it comes from. */
  private def needsSparkScans(plan: LogicalPlan): Boolean = plan match {
    case _: Sample => true
    case _ =>
      plan.expressions.exists(_.exists {
        case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
        case _ => false
      })
  }

  /** Whether it is worth a look: commands and streams are not. */
  private def mayHold(plan: LogicalPlan): Boolean = plan match {
    case _: Command | _: LocalRelation | _: OneRowRelation => false
    case _ => !plan.isStreaming && plan.collectLeaves().nonEmpty
  }
}
