package io.jumpgate.spark.exec

import io.jumpgate.ntf.{ColumnarFrame, Descriptor}
import io.jumpgate.spark.JumpgateExecutor
import org.apache.spark.sql.jumpgate.Backups
import org.apache.spark.{TaskContext, TaskKilledException}
import scala.annotation.tailrec

/**
 * The frames of a partition, in a task, as they come; the end comes when the whole result is complete. If its job fails after a frame was
 * read, the task is killed and Spark begins it anew, which counts as no failure of the task.
 */
private[exec] final class StreamedFrames(result: String, partition: Int, descriptor: Descriptor, task: TaskContext)
    extends Iterator[ColumnarFrame] {
  private val local = JumpgateExecutor.results.partition(result, partition)
  private var rest = Option.empty[Iterator[ColumnarFrame]] // of a result that is complete
  @volatile private var ahead, current = Option.empty[ColumnarFrame]
  @volatile private var taken = 0
  @volatile private var ended, failed, lost = false

  task.addTaskFailureListener((_, _) => failed = true)
  task.addTaskCompletionListener[Unit](_ => close())

  /** Whether the job has failed, and no frame was read: then there are none. Waits for the first one. */
  def isLost: Boolean = {
    hasNext
    lost
  }

  override def hasNext: Boolean = {
    if (ahead.isEmpty && !ended) fetch()
    ahead.nonEmpty
  }

  /** Closes the one before. */
  override def next(): ColumnarFrame = {
    if (!hasNext) throw new NoSuchElementException
    current.foreach(_.close())
    current = ahead
    ahead = None
    taken += 1
    current.get
  }

  private def fetch(): Unit = {
    if (rest.isEmpty) ahead = local.flatMap(_.frame(taken)(requireAlive()))
    if (ahead.isEmpty && rest.isEmpty) settle()
    rest.filter(_ => ahead.isEmpty).foreach { frames =>
      if (frames.hasNext) ahead = Some(frames.next())
      else ended = true
    }
  }

  /** All that has come here was read: the driver knows whether there is more. */
  @tailrec private def settle(): Unit =
    JumpgateExecutor.standing(result, partition, task.stageId()) match {
      case Running =>
        requireAlive()
        Thread.sleep(StreamedFrames.PollMs)
        settle()
      case Complete(Copied(frames)) => rest = Some(frames.iterator.drop(taken).map(_.frame(descriptor)))
      case Complete(Held(_, backup, rows)) =>
        val places = rows.indices.iterator.drop(taken)
        rest = Some(places.map(i => local.flatMap(_.frame(i)(())).getOrElse(Backups.read(backup, i, rows(i)).frame(descriptor))))
      case Lost if taken == 0 =>
        lost = true
        ended = true
      case Lost => beginAnew()
      case Broken(why) => throw new IllegalStateException(why)
      case Complete(place) => throw new IllegalStateException(s"a complete result is still $place")
    }

  private def requireAlive(): Unit = if (task.isInterrupted()) throw new TaskKilledException("while it waited for rows")

  private def beginAnew(): Nothing = {
    JumpgateExecutor.restart(task.taskAttemptId())
    val until = System.nanoTime() + StreamedFrames.KillNs
    while (!task.isInterrupted() && System.nanoTime() < until) Thread.sleep(StreamedFrames.PollMs)
    throw new TaskKilledException(StreamedFrames.Reason)
  }

  private def close(): Unit = {
    (ahead ++ current).foreach(_.close())
    ahead = None
    current = None
    if (ended && !lost) JumpgateExecutor.results.read(result, partition)
    else if (!ended && !failed && taken > 0 && !JumpgateExecutor.stop(result, task.stageId())) beginAnew()
  }
}

private[spark] object StreamedFrames {
  val Reason = "the job failed whose rows it read"
  private val PollMs = 20L
  private val KillNs = 60L * 1000 * 1000 * 1000
}
