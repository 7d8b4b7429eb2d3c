package io.jumpgate.spark.exec

import io.jumpgate.JumpgateException
import io.jumpgate.spark.plan.{ExpressionTranslator, PlanTranslator, Summary}
import io.jumpgate.spark.Settings
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{LeafExecNode, RowToColumnarExec, SQLExecution, ScalarSubquery => ExecutedSubquery}
import org.apache.spark.sql.jumpgate.Sessions
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A part of a query that Jumpgate computes. Executing it runs the job to its end: what was received is read only when all of it is
 * there. If the job cannot be run, or fails, Spark's own plan of the part is executed in its place.
 */
case class JumpgateExec(
    output: Seq[Attribute],
    @transient logical: LogicalPlan,
    inner: Seq[Expression],
    ordered: Boolean)
    extends LeafExecNode
    with Logging {
  override def nodeName: String = "Jumpgate"

  override def supportsColumnar: Boolean = true

  override def outputOrdering: Seq[SortOrder] = if (ordered) logical.outputOrdering else Nil

  override def outputPartitioning: Partitioning = if (ordered) SinglePartition else UnknownPartitioning(partitions)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "received" -> SQLMetrics.createSizeMetric(sparkContext, "received"),
    "setup" -> SQLMetrics.createTimingMetric(sparkContext, "set-up time"),
    "execution" -> SQLMetrics.createTimingMetric(sparkContext, "execution time"),
    "fallbacks" -> SQLMetrics.createMetric(sparkContext, "fall-backs to Spark"))

  override def simpleString(maxFields: Int): String =
    s"$nodeName ${output.mkString("[", ", ", "]")} ${Summary.of(logical)}"

  override protected def doCanonicalize(): JumpgateExec = copy(
    output = output.map(a => a.canonicalized.asInstanceOf[Attribute]),
    logical = logical.canonicalized,
    inner = Nil)

  /** Adaptive execution and row-based parents put a conversion above it. */
  override protected def doExecute(): RDD[InternalRow] =
    throw new IllegalStateException("a columnar node is not executed by rows")

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    try {
      val result = received()
      metrics("received") += result.bytes
      metrics("setup") += result.setupMs
      metrics("execution") += result.executionMs
      post()
      val rows = new ReceivedRDD(sparkContext, result, output.map(_.dataType).toArray, metrics("numOutputRows"))
      Submissions.keepFor(rows, result)
      rows
    } catch {
      case e: JumpgateException => instead(e)
    }
  }

  private def received(): Result = {
    val plan = resolved
    val root = new PlanTranslator(classic)(plan).fold(
      refusal => throw new JumpgateException(refusal.reason.code.text, refusal.reason.sentence),
      identity)
    Submissions.result(classic, plan, root, if (ordered) 1 else partitions)
  }

  /** The plan with the results of its subqueries. */
  private def resolved: LogicalPlan = {
    val values = inner.collect { case s: ExecutedSubquery => s.exprId -> Literal.create(s.eval(), s.dataType) }.toMap
    if (values.isEmpty) logical
    else logical.transformAllExpressions { case s: ScalarSubquery => values.getOrElse(s.exprId, s) }
  }

  private def instead(error: JumpgateException): RDD[ColumnarBatch] = {
    if (Settings.Strict(conf))
      throw new IllegalStateException(s"a query cannot run on Jumpgate, and ${Settings.Strict.name} is set: ${error.getMessage}", error)
    logWarning(s"Spark computes what Jumpgate should have (${error.code}): ${error.getMessage}")
    metrics("fallbacks") += 1
    Submissions.fellBack()
    post()
    val own = Sessions.ownPlan(classic, resolved)
    val rows = if (own.supportsColumnar) own.executeColumnar() else RowToColumnarExec(own).executeColumnar()
    if (ordered) rows.coalesce(1) else rows
  }

  private def post(): Unit =
    SQLMetrics.postDriverMetricUpdates(
      sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics.values.toSeq)

  private def classic: SparkSession = session

  private def partitions: Int = Settings.Partitions(conf) match {
    case 0 => sparkContext.defaultParallelism.max(1)
    case n => n
  }
}

object JumpgateExec {
  def of(session: SparkSession, plan: LogicalPlan): JumpgateExec = {
    val inner = plan.collect { case p => p.expressions.flatMap(ExpressionTranslator.subqueries) }.flatten.distinct
    JumpgateExec(plan.output, plan, inner, isOrdered(plan))
  }

  /** Whether the order of the result's rows means something, also by columns that it does not have. */
  private def isOrdered(plan: LogicalPlan): Boolean = plan match {
    case s: Sort => s.global
    case _: ReturnAnswer | _: Project | _: Filter | _: GlobalLimit | _: LocalLimit | _: Offset => plan.children.exists(isOrdered)
    case _ => false
  }
}
