package io.jumpgate.spark

import io.jumpgate.spark.plan.{JumpgateStrategy, SplitAggregates}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.jumpgate.Shims.SparkSession

/** What a session of Spark's gets: the strategy, and a rule that prepares plans for it. */
final class JumpgateExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPreCBORule(session => new SplitAggregates(session.asInstanceOf[SparkSession]))
    extensions.injectPlannerStrategy(session => new JumpgateStrategy(session.asInstanceOf[SparkSession]))
  }
}
