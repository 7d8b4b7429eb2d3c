package io.jumpgate.spark

import io.jumpgate.spark.plan.JumpgateStrategy
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.jumpgate.Shims.SparkSession

/** What a session of Spark's gets: the strategy. */
final class JumpgateExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPlannerStrategy(session => new JumpgateStrategy(session.asInstanceOf[SparkSession]))
}
