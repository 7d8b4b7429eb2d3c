package org.apache.spark.sql.jumpgate

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.{SparkConf, SparkContext}

/** What the plugin needs of Spark's sessions that is not public. */
object Sessions {
  /** Spark's own plan of a logical one: nothing in it is offloaded. */
  def ownPlan(session: SparkSession, plan: LogicalPlan): SparkPlan = {
    val own = session.cloneSession()
    own.sessionState.conf.setConfString("spark.jumpgate.enabled", "false")
    own.sessionState.conf.setConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED, false)
    own.withActive(QueryExecution.prepareExecutedPlan(own, plan.clone()))
  }

  /** The context's own settings, which sessions take theirs from. */
  def conf(context: SparkContext): SparkConf = context.conf

  /** What people see of a query in Spark's UI. */
  def description(context: SparkContext): String =
    Option(context.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION)).getOrElse("")

  /** Whether somebody may cancel the session's jobs by a group or a tag. */
  def isCancellable(session: SparkSession): Boolean =
    session.sparkContext.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID) != null || Shims.tags(session).nonEmpty
}
