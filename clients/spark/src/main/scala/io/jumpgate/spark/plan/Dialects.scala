package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Dialect
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.NumericType
import scala.util.Try

/** What of Spark's arithmetic a request says. */
object Dialects {
  /**
   * What overflows is an error: under ANSI it is one in Spark, too, and otherwise Spark's plan gives what wraps or becomes NULL. A
   * division by zero is one where any division of the plan is by ANSI.
   */
  def of(plan: LogicalPlan): Dialect = {
    val ansi = plan.exists(_.expressions.exists(_.exists(failsByZero)))
    new Dialect(
      Dialect.OnOverflow.ERROR,
      if (ansi) Dialect.DivisionByZero.ERROR else Dialect.DivisionByZero.NULL,
      Dialect.ToInteger.TRUNCATE,
      Dialect.Nan.LARGEST)
  }

  /** Whether a division by zero is an error, and not NULL. */
  private def failsByZero(e: Expression): Boolean = e match {
    case division @ (_: Divide | _: IntegralDivide | _: Remainder | _: Pmod) if division.children.forall(_.dataType.isInstanceOf[NumericType]) =>
      val zeros = division.children.map(child => Literal.default(child.dataType))
      Try(division.withNewChildren(zeros).eval()).isFailure
    case _ => false
  }
}
