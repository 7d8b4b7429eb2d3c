package io.jumpgate.spark.exec

import io.jumpgate.spark.JumpgateExecutor
import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.jumpgate.Shims
import org.apache.spark.{Partition => SparkPartition, SparkContext, SparkException, TaskContext}
import scala.util.Failure

/**
 * A job of Spark's that lasts as long as one of Jumpgate's: whoever cancels it, by its group or a tag, cancels the other. Its one
 * task only waits, but takes a core's place for it.
 */
private[exec] final class StandInRDD(context: SparkContext, job: String) extends RDD[Unit](context, Nil) {
  override protected def getPartitions: Array[SparkPartition] = Array(StandInPartition)

  override def compute(partition: SparkPartition, task: TaskContext): Iterator[Unit] = {
    while (!task.isInterrupted() && JumpgateExecutor.isRunning(job)) Thread.sleep(StandIn.PollMs)
    Iterator.empty
  }
}

private case object StandInPartition extends SparkPartition {
  override def index: Int = 0
}

private[spark] object StandIn {
  val PollMs = 50L
  private val Cancelled = "SPARK_JOB_CANCELLED"
  private val running = ConcurrentHashMap.newKeySet[String]()

  def isRunning(job: String): Boolean = running.contains(job)

  /** Begins one; calls back with Spark's error if it is cancelled before `end`. */
  def begin(context: SparkContext, job: String)(cancelled: SparkException => Unit): Unit = {
    running.add(job)
    val action =
      context.submitJob[Unit, Unit, Unit](new StandInRDD(context, job), _ => (), Seq(0), (_, _) => (), ())
    action.onComplete {
      case Failure(e: SparkException) if Shims.condition(e) == Cancelled => cancelled(e)
      case _ =>
    }(Threads.same)
  }

  def end(job: String): Unit = running.remove(job)
}
