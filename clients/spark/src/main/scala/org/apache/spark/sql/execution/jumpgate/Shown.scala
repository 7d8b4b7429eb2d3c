package org.apache.spark.sql.execution.jumpgate

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate
import org.apache.spark.sql.execution.{SQLExecution, SimpleMode, SparkPlanInfo}

/** What Spark's UI shows of a query. */
object Shown {
  /** The plan of the query that runs, as its nodes say it now. */
  def again(context: SparkContext): Unit =
    for {
      id <- Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong)
      query <- Option(SQLExecution.getQueryExecution(id))
    } {
      val plan = SparkPlanInfo.fromSparkPlan(query.executedPlan)
      context.listenerBus.post(SparkListenerSQLAdaptiveExecutionUpdate(id, query.explainString(SimpleMode), plan))
    }
}
