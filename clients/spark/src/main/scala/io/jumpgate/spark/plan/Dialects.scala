package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Dialect
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.jumpgate.Sessions

/** What of Spark's arithmetic a request says. */
object Dialects {
  /**
   * What overflows is an error: under ANSI it is one in Spark, too, and otherwise Spark's plan gives what wraps or becomes NULL. A
   * division by zero is one where any division of the plan is by ANSI.
   */
  def of(plan: LogicalPlan): Dialect = {
    val ansi = plan.exists(_.expressions.exists(_.exists(Sessions.failsByZero)))
    new Dialect("error", if (ansi) "error" else "null", "truncate", "largest")
  }
}
