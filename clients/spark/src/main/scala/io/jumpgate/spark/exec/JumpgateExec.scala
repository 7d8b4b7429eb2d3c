package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.dataflow.Operator
import io.jumpgate.spark.plan.{Dialects, ExpressionTranslator, NotOffloaded, Summary}
import io.jumpgate.spark.Settings
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression, Literal, PlanExpression, ScalarSubquery, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.jumpgate.Shown
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{
  LeafExecNode, RDDScanExec, RowToColumnarExec, SQLExecution, ScalarSubquery => ExecutedSubquery, SparkPlan}
import org.apache.spark.sql.jumpgate.Sessions
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success}

/**
 * A part of a query that Jumpgate computes. Executing it runs the job to its end, or, where the part is one of rows of files, until
 * the first of them are there: tasks then read while it runs. If the job cannot be run, or fails, Spark's own plan of the part is
 * executed in its place. A `whole` query has rows for
 * whoever asked it; a part has columns for the operators above it.
 */
case class JumpgateExec(
    output: Seq[Attribute],
    @transient logical: LogicalPlan,
    inner: Seq[Expression],
    ordered: Boolean,
    whole: Boolean)(@transient private val root: Operator)
    extends LeafExecNode
    with Logging {
  override def nodeName: String = "Jumpgate"

  override def supportsColumnar: Boolean = true

  override def supportsRowBased: Boolean = whole

  override def outputOrdering: Seq[SortOrder] = if (ordered) logical.outputOrdering else Nil

  override def outputPartitioning: Partitioning = if (ordered) SinglePartition else UnknownPartitioning(partitions)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "received" -> SQLMetrics.createSizeMetric(sparkContext, "received"),
    "setup" -> SQLMetrics.createTimingMetric(sparkContext, "set-up time"),
    "execution" -> SQLMetrics.createTimingMetric(sparkContext, "execution time"),
    "fallbacks" -> SQLMetrics.createMetric(sparkContext, "fall-backs to Spark"))

  /** What the UI shows of the job, once there is one. */
  @transient @volatile private var shown = ""

  override def simpleString(maxFields: Int): String =
    s"$nodeName ${output.mkString("[", ", ", "]")} ${Summary.of(logical)}$shown"

  override protected def doCanonicalize(): JumpgateExec = copy(
    output = output.map(a => a.canonicalized.asInstanceOf[Attribute]),
    logical = logical.canonicalized,
    inner = Nil)(root)

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(root)

  override protected def doExecute(): RDD[InternalRow] = rows(doExecuteColumnar())

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = columns(attempt())

  /** No task is run for a small result, which is with the driver. */
  override def executeCollect(): Array[InternalRow] = executeQuery {
    attempt() match {
      case Right(result) if result.isCopied =>
        val toRow = UnsafeProjection.create(output, output)
        val found = result.frames.flatMap { frame =>
          try FrameVector.batch(frame, types).rowIterator.asScala.map(toRow(_).copy()).toArray[InternalRow]
          finally frame.close()
        }.toArray
        metrics("numOutputRows") += found.length
        post()
        found
      case other =>
        try RDDScanExec(output, rows(columns(other)), nodeName).executeCollect()
        finally other.foreach(Submissions.drop)
    }
  }

  private def types: Array[DataType] = output.map(_.dataType).toArray

  /** Each is overwritten by the next one. */
  private def rows(columns: RDD[ColumnarBatch]): RDD[InternalRow] = {
    val attributes = output
    columns.mapPartitions { batches =>
      val toRow = UnsafeProjection.create(attributes, attributes)
      batches.flatMap(_.rowIterator.asScala.map(toRow))
    }
  }

  private def columns(outcome: Either[SparkPlan, Result]): RDD[ColumnarBatch] = outcome match {
    case Right(result) =>
      val instead = if (result.isStreamed) Some(columns(Sessions.ownPlan(classic, logical))) else None
      new ReceivedRDD(sparkContext, result, types, metrics("numOutputRows"), instead)
    case Left(own) => if (ordered) columns(own).coalesce(1) else columns(own)
  }

  private def columns(own: SparkPlan): RDD[ColumnarBatch] =
    if (own.supportsColumnar) own.executeColumnar() else RowToColumnarExec(own).executeColumnar()

  /** The result, complete unless it is streamed, or Spark's own plan for what could not be computed. */
  private def attempt(): Either[SparkPlan, Result] =
    try {
      val result = received()
      metrics("setup") += result.setupMs
      count(result)
      val job = result.job
      shown = s"; by ${job.ncas.asScala.mkString(", ")}; the timeline of job ${job.id} is in the tab Jumpgate"
      Shown.again(sparkContext)
      Right(result)
    } catch {
      case e: JumpgateException => Left(instead(e))
    }

  /** In the metrics, when the job has ended. */
  private def count(result: Result): Unit = {
    val query = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    result.taken.onComplete { outcome =>
      outcome match {
        case Success(taken) =>
          metrics("received") += taken.bytes
          metrics("execution") += taken.executionMs
        case Failure(_: Abandoned) =>
        case Failure(_) => metrics("fallbacks") += 1
      }
      post(query)
    }(Threads.same)
  }

  private def received(): Result = {
    val results = subqueryResults
    val request = Submission.dataflow(root, Dialects.of(logical), _: Seq[String], results)
    try Submissions.result(classic, resolved(results), request, partitions, JumpgateExec.streams(logical))
    catch {
      case e: NotOffloaded => throw new JumpgateException(ErrorCode.COMPUTE, e.reason.sentence)
    }
  }

  /** The results of the plan's subqueries. */
  private def subqueryResults: Map[ExprId, Literal] =
    inner.collect { case s: ExecutedSubquery => s.exprId -> Literal.create(s.eval(), s.dataType) }.toMap

  /** The plan with these in it. */
  private def resolved(results: Map[ExprId, Literal]): LogicalPlan =
    if (results.isEmpty) logical
    else logical.transformAllExpressions { case s: ScalarSubquery => results.getOrElse(s.exprId, s) }

  private def instead(error: JumpgateException): SparkPlan = {
    if (Settings.Strict(conf))
      throw new IllegalStateException(s"a query cannot run on Jumpgate, and ${Settings.Strict.name} is set: ${error.getMessage}", error)
    logWarning(s"Spark computes what Jumpgate should have (${error.code}): ${error.getMessage}")
    metrics("fallbacks") += 1
    Submissions.fellBack()
    if (!Settings.areUsers(conf)) Failed.note(logical, error) // which may hold a value of the user's
    post()
    Sessions.ownPlan(classic, resolved(subqueryResults))
  }

  private def post(): Unit = post(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))

  private def post(query: String): Unit = SQLMetrics.postDriverMetricUpdates(sparkContext, query, metrics.values.toSeq)

  private def classic: SparkSession = session

  private def partitions: Int = JumpgateExec.partitions(classic, logical)
}

object JumpgateExec {
  /** Of a plan, of which `root` is the dataflow. */
  def of(plan: LogicalPlan, root: Operator): JumpgateExec = {
    val inner = plan.collect { case p => p.expressions.flatMap(ExpressionTranslator.subqueries) }.flatten.distinct
    JumpgateExec(plan.output, plan, inner, isOrdered(plan), whole = plan.isInstanceOf[ReturnAnswer])(root)
  }

  /** Into how many a plan's result is received. */
  def partitions(session: SparkSession, plan: LogicalPlan): Int =
    if (isOrdered(plan)) 1
    else
      Settings.Partitions(session.sessionState.conf) match {
        case 0 => session.sparkContext.defaultParallelism.max(1)
        case n => n
      }

  /** Whether rows may be read while their job runs: each of Spark's own partitions comes from files alone, so that a task computes it. */
  private def streams(plan: LogicalPlan): Boolean = plan match {
    case _: LogicalRelation => true
    case _: Project | _: Filter | _: Union | _: SubqueryAlias | _: ReturnAnswer =>
      !plan.expressions.exists(_.exists(_.isInstanceOf[PlanExpression[_]])) && plan.children.forall(streams)
    case _ => false
  }

  /** Whether the order of the result's rows means something, also by columns that it does not have. */
  private def isOrdered(plan: LogicalPlan): Boolean = plan match {
    case s: Sort => s.global
    case _: ReturnAnswer | _: Project | _: Filter | _: GlobalLimit | _: LocalLimit | _: Offset => plan.children.exists(isOrdered)
    case _ => false
  }
}
