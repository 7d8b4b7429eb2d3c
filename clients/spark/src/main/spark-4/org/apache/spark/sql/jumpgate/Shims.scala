package org.apache.spark.sql.jumpgate

import org.apache.spark.SparkException

/** What Spark 4 calls by other names than Spark 3 does. */
object Shims {
  type SparkSession = org.apache.spark.sql.classic.SparkSession
  type HttpServletRequest = jakarta.servlet.http.HttpServletRequest
  type Dataset[T] = org.apache.spark.sql.classic.Dataset[T]
  type ExplainGenerator = org.apache.spark.sql.ExtendedExplainGenerator

  /** By which somebody may cancel the session's jobs. */
  def tags(session: SparkSession): Set[String] = session.getTags()

  def condition(error: SparkException): String = error.getCondition
}
