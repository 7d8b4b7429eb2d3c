package io.jumpgate.spark.exec

import io.jumpgate.client.{Credentials, Job, JumpgateClient}
import io.jumpgate.ntf.{ColumnarFrame, Descriptor}
import io.jumpgate.spark.{Setting, Settings}
import io.jumpgate.v1.Dataflow
import java.lang.ref.Cleaner
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent, SparkListenerExecutorRemoved}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jumpgate.{Backups, Drop, Ended, JumpgateTab, Receivers, Sessions}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import scala.concurrent.duration.Duration
import scala.concurrent.{Await, Future, Promise}
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.{Failure, Success}

/** Where a partition of a result is. */
sealed trait Place extends Serializable

/** Still coming to an executor. */
final case class Streaming(location: String, backup: Int) extends Place

/** On an executor; `location` is what Spark's scheduler calls it. `backup`: see [[Backups]]; `rows`: of each frame. */
final case class Held(location: String, backup: Int, rows: Seq[Int]) extends Place

/** With the task that reads it. */
final case class Copied(frames: Seq[FrameCopy]) extends Place

/** What a job's result and execution took. */
final case class Taken(bytes: Long, executionMs: Long)

/**
 * A result: its job, its network tuple format, and where each partition is. It lasts as long as this object. `taken` is there once the
 * result is complete; it fails with the job, of a result that Spark reads while this runs.
 */
final class Result(val name: String, val job: Job, val places: Seq[Place], val setupMs: Long, val taken: Future[Taken]) {
  def format: String = job.descriptor.text

  /** Whether it may be read before it is complete. */
  def isStreamed: Boolean = places.exists(_.isInstanceOf[Streaming])

  /** Whether no executor keeps any of it. */
  def isCopied: Boolean = places.forall(_.isInstanceOf[Copied])

  /** Of one that is copied. Whoever takes a frame closes it. */
  def frames: Iterator[ColumnarFrame] = {
    val descriptor = Descriptor.parse(format)
    places.iterator.collect { case Copied(frames) => frames }.flatten.map(_.frame(descriptor))
  }
}

/** Runs jobs for queries, on the driver. Within a query, equal parts of it are computed once. */
object Submissions extends SparkListener {
  private val clients = new ConcurrentHashMap[(String, Int, Credentials), JumpgateClient]()
  private val results = new ConcurrentHashMap[String, ConcurrentHashMap[LogicalPlan, Future[Result]]]()
  private val count = new AtomicLong()
  private val cleaner = Cleaner.create()

  /** How often Spark computed what Jumpgate should have. */
  def fallbacks: Long = count.get

  def fellBack(): Unit = count.incrementAndGet()

  /**
   * The result of a plan; complete when it is returned, unless it `streams` and is large. `request`: of the addresses of its partitions.
   * Raises JumpgateException, and Spark's own error if the query is cancelled.
   */
  def result(
      session: SparkSession, plan: LogicalPlan, request: Seq[String] => Dataflow, partitions: Int, streams: Boolean): Result = {
    val query = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    def run(): Result = {
      val service = client(session.sessionState.conf)
      val started = System.currentTimeMillis()
      // whoever reads a result when its query has ended has no action of Spark's that could be begun anew
      val result = new Submission(service, session, request, partitions, streams && query != null).run()
      note(session, service, result, Option(query), started)
      if (!result.isCopied) cleaner.register(result, dropping(result))
      result
    }
    if (query == null) run()
    else {
      val promise = Promise[Result]()
      val known = results.computeIfAbsent(query, _ => new ConcurrentHashMap()).putIfAbsent(plan.canonicalized, promise.future)
      if (known != null) Await.result(known, Duration.Inf)
      else
        try {
          val result = run()
          promise.success(result)
          result
        } catch {
          case e: Throwable =>
            promise.failure(e)
            throw e
        }
    }
  }

  /** Adds the job to the history when it has ended. Does not hold the result, which would then last as long as its job is known. */
  private def note(session: SparkSession, service: JumpgateClient, result: Result, query: Option[String], started: Long): Unit = {
    val (job, setupMs, context) = (result.job, result.setupMs, session.sparkContext)
    val text = Sessions.description(context)
    result.taken.onComplete {
      case Success(Taken(bytes, executionMs)) =>
        val ran = Ran(job.id, query.map(_.toLong), text, started, setupMs, executionMs, bytes, job.ncas.asScala.toSeq, service)
        History.add(ran, JumpgateTab.jobsMax(context))
      case Failure(_: Abandoned) =>
      case Failure(_) => fellBack()
    }(Threads.same)
  }

  /** Nobody reads it again. */
  def drop(result: Result): Unit = dropping(result).run()

  /** Without the result itself, which would then last for ever. */
  private def dropping(result: Result): Runnable = {
    val name = result.name
    val backups = result.places.collect {
      case held: Held => held.backup
      case streaming: Streaming => streaming.backup
    }
    () => {
      Streams.drop(name)
      Receivers.tell(Drop(name))
      Backups.drop(backups)
    }
  }

  /** Of the service that the settings name. */
  def client(conf: SQLConf): JumpgateClient =
    clients.computeIfAbsent(
      (Settings.Address(conf), Settings.Timeout(conf), credentials(conf)),
      { case (address, seconds, shown) => JumpgateClient.connect(address, java.time.Duration.ofSeconds(seconds), shown) })

  private def credentials(conf: SQLConf): Credentials = {
    def path(setting: Setting[String]) = Some(setting(conf)).filter(_.nonEmpty).map(Shipped.path).toJava
    new Credentials(path(Settings.Tls), path(Settings.TokenFile))
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      val of = results.remove(end.executionId.toString)
      if (of != null)
        of.values.asScala.flatMap(_.value).flatMap(_.toOption).filterNot(_.isCopied).foreach { result =>
          Streams.ended(result.name, end.errorMessage.exists(_.nonEmpty))
          Receivers.tell(Ended(result.name))
        }
    case _ =>
  }

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = Receivers.remove(removed.executorId)

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
    results.clear()
    Failed.clear()
    History.clear()
    Receivers.begin()
    Streams.clear()
    clients.values.asScala.foreach(_.close())
    clients.clear()
  }
}
