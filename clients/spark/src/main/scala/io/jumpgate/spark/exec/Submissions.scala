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

/** Where a partition of a complete result is. */
sealed trait Place extends Serializable

/** On an executor; `location` is what Spark's scheduler calls it. `backup`: see [[Backups]]; `rows`: of each frame. */
final case class Held(location: String, backup: Int, rows: Seq[Int]) extends Place

/** With the task that reads it. */
final case class Copied(frames: Seq[FrameCopy]) extends Place

/** A complete result: its job, its network tuple format, where each partition is, and what it took. It lasts as long as this object. */
final class Result(
    val name: String,
    val job: Job,
    val places: Seq[Place],
    val bytes: Long,
    val setupMs: Long,
    val executionMs: Long) {
  def format: String = job.descriptor.text

  /** Whether no executor keeps any of it. */
  def isCopied: Boolean = places.forall(_.isInstanceOf[Copied])

  /** Of one that is copied. Whoever takes a frame closes it. */
  def frames: Iterator[ColumnarFrame] = {
    val descriptor = Descriptor.parse(format)
    places.iterator.collect { case Copied(frames) => frames }.flatten.map(c => ColumnarFrame.of(descriptor, c.bytes, c.rows))
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
   * The result of a plan; complete when it is returned. `request`: of the addresses of its partitions. Raises JumpgateException, and
   * Spark's own error if the query is cancelled.
   */
  def result(session: SparkSession, plan: LogicalPlan, request: Seq[String] => Dataflow, partitions: Int): Result = {
    val query = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    def run(): Result = {
      val service = client(session.sessionState.conf)
      val started = System.currentTimeMillis()
      val result = new Submission(service, session, request, partitions).run()
      val job = Ran(
        result.job.id, Option(query).map(_.toLong), Sessions.description(session.sparkContext), started, result.setupMs,
        result.executionMs, result.bytes, result.job.ncas.asScala.toSeq, service)
      History.add(job, JumpgateTab.jobsMax(session.sparkContext))
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

  /** Nobody reads it again. */
  def drop(result: Result): Unit = dropping(result).run()

  /** Without the result itself, which would then last for ever. */
  private def dropping(result: Result): Runnable = {
    val (name, backups) = (result.name, result.places.collect { case held: Held => held.backup })
    () => {
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
        of.values.asScala.flatMap(_.value).flatMap(_.toOption).filterNot(_.isCopied).foreach(r => Receivers.tell(Ended(r.name)))
    case _ =>
  }

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = Receivers.remove(removed.executorId)

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
    results.clear()
    History.clear()
    Receivers.begin()
    clients.values.asScala.foreach(_.close())
    clients.clear()
  }
}
