package io.jumpgate.spark.exec

import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.internal.Logging
import scala.collection.mutable
import scala.concurrent.{Future, Promise}
import scala.util.{Failure, Success, Try}

/** What a task is told of a partition of a result that is handed out while its job runs. */
sealed trait Standing extends Serializable

case object Running extends Standing

/** The whole result has come, and its job is done. */
final case class Complete(place: Place) extends Standing

/** The job has failed: the partition is Spark's to compute from its first row, and no row of the result counts. */
case object Lost extends Standing

/** The job has failed, and Spark must not compute the partition. */
final case class Broken(why: String) extends Standing

/** Nobody needs the result any longer; its job was ended. */
final class Abandoned extends RuntimeException("the query ended before it had read the result")

/**
 * A result that is handed out while its job runs, on the driver. No task that reads it to its end finishes before the result is complete,
 * so that a failure makes every row void that was read: tasks begin anew, with Spark's own plan. A task may end earlier where its query
 * wants no more rows; its rows count, and a failure after that fails the query.
 */
private[exec] final class Stream(strict: Boolean, cancel: () => Unit) extends Logging {
  private val promised = Promise[Taken]()
  private val counting = mutable.Set.empty[Int] // stages with a task that has ended early
  private var outcome = Option.empty[Try[Seq[Place]]]
  private var hasReader, isAbandoned = false

  def taken: Future[Taken] = promised.future

  /** The job has ended: with the whole result, or with an error. */
  def end(ended: Try[Result]): Unit = {
    synchronized {
      outcome = Some(ended.map(_.places))
    }
    ended match {
      case Success(result) => promised.completeWith(result.taken)
      case Failure(_) if synchronized(isAbandoned) => promised.failure(new Abandoned)
      case Failure(e) =>
        if (!strict) logWarning(s"Spark computes what Jumpgate should have, of which rows were read already: ${e.getMessage}")
        promised.failure(e)
    }
  }

  /** For a task of that stage. */
  def standing(partition: Int, stage: Int): Standing = synchronized {
    hasReader = true
    outcome match {
      case None => Running
      case Some(Success(places)) => Complete(places(partition))
      case Some(Failure(e)) if strict => Broken(s"a query cannot run on Jumpgate, and spark.jumpgate.strict is set: ${e.getMessage}")
      case Some(Failure(e)) if counting(stage) =>
        Broken(s"a job failed when a task had used some of its rows, and ended: ${e.getMessage}")
      case _ => Lost
    }
  }

  /** A task ends before it has read everything; false: it must not, as the job has failed. */
  def stop(stage: Int): Boolean = synchronized {
    hasReader = true
    if (outcome.isEmpty) counting += stage
    outcome.forall(_.isSuccess)
  }

  /** Ends the job, if it still runs. */
  def abandon(): Unit = {
    val runs = synchronized {
      isAbandoned = outcome.isEmpty
      isAbandoned
    }
    if (runs) cancel()
  }

  /** The query has ended. If it has not failed, who has not begun to read may still do so. */
  def ended(hasFailed: Boolean): Unit = if (hasFailed || synchronized(hasReader)) abandon()
}

/** Results that are handed out while their jobs run, by name, on the driver. */
private[spark] object Streams {
  private val known = new ConcurrentHashMap[String, Stream]()

  private[exec] def add(name: String, stream: Stream): Unit = known.put(name, stream)

  private[exec] def ended(name: String, hasFailed: Boolean): Unit = Option(known.get(name)).foreach(_.ended(hasFailed))

  private[exec] def drop(name: String): Unit = Option(known.remove(name)).foreach(_.abandon())

  private[exec] def clear(): Unit = known.clear()

  /** A result that is not known was dropped. */
  def standing(name: String, partition: Int, stage: Int): Standing =
    Option(known.get(name)).fold[Standing](Lost)(_.standing(partition, stage))

  def stop(name: String, stage: Int): Boolean = Option(known.get(name)).exists(_.stop(stage))
}
