package org.apache.spark.sql.jumpgate

import org.apache.spark.SparkException
import org.apache.spark.sql.execution.SparkPlan

/** What Spark 3 calls by other names than Spark 4 does. */
object Shims {
  type SparkSession = org.apache.spark.sql.SparkSession
  type HttpServletRequest = javax.servlet.http.HttpServletRequest
  type Dataset[T] = org.apache.spark.sql.Dataset[T]

  /** EXPLAIN cannot be extended; what would extend it is asked by itself. */
  trait ExplainGenerator {
    def title: String
    def generateExtendedInfo(plan: SparkPlan): String
  }

  /** By which somebody may cancel the session's jobs. */
  def tags(session: SparkSession): Set[String] = session.sparkContext.getJobTags()

  def condition(error: SparkException): String = error.getErrorClass
}
