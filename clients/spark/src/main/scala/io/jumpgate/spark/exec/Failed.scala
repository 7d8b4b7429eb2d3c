package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import java.util.{Collections, LinkedHashMap, Map => JavaMap}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Parts of queries of which a job has failed, some minutes ago at most, as some of their values are Spark's to compute. */
object Failed {
  private val Max = 256
  private val ForNs = 600L * 1000 * 1000 * 1000
  private val OfValues = Set(
    ErrorCode.MALFORMED, ErrorCode.SCHEMA, ErrorCode.COMPUTE, ErrorCode.OVERFLOW, ErrorCode.DIVISION_BY_ZERO, ErrorCode.INVALID_CAST)

  private final case class Known(why: String, since: Long)

  private val known = Collections.synchronizedMap(new LinkedHashMap[LogicalPlan, Known] {
    override protected def removeEldestEntry(eldest: JavaMap.Entry[LogicalPlan, Known]): Boolean = size > Max
  })

  def note(plan: LogicalPlan, error: JumpgateException): Unit =
    if (OfValues.exists(error.is)) known.put(plan.canonicalized, Known(error.getMessage, System.nanoTime()))

  /** Why its job has failed; None: it has not, or that is long ago. */
  def why(plan: LogicalPlan): Option[String] =
    Option(known.get(plan.canonicalized)).filter(System.nanoTime() - _.since < ForNs).map(_.why)

  def clear(): Unit = known.clear()
}
