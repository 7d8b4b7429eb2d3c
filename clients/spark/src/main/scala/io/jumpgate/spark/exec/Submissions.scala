package io.jumpgate.spark.exec

import io.jumpgate.JumpgateException
import io.jumpgate.client.{Job, JumpgateClient}
import io.jumpgate.dataflow.{Layout, Operator, Partitioning}
import io.jumpgate.spark.Settings
import io.jumpgate.spark.plan.Dialects
import io.jumpgate.v1.SubmitRequest
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent, SparkListenerExecutorRemoved}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jumpgate._
import scala.concurrent.duration._
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters._

/** A complete result: which executor has each partition, and what it took. */
final case class Result(name: String, locations: Seq[String], rows: Long, bytes: Long, setupMs: Long, executionMs: Long)

/** Runs jobs for queries, on the driver. Within a query, equal parts of it are computed once. */
object Submissions extends SparkListener {
  private val clients = new ConcurrentHashMap[(String, Int), JumpgateClient]()
  private val results = new ConcurrentHashMap[String, ConcurrentHashMap[LogicalPlan, Future[Result]]]()
  private val count = new AtomicLong()

  /** How often Spark computed what Jumpgate should have. */
  def fallbacks: Long = count.get

  def fellBack(): Unit = count.incrementAndGet()

  /** The result of a plan, of which `root` is the dataflow; complete when it is returned. Raises JumpgateException. */
  def result(context: SparkContext, conf: SQLConf, plan: LogicalPlan, root: Operator, partitions: Int): Result = {
    val query = context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    def run(): Result = new Submission(client(conf), context, plan, root, partitions).run()
    if (query == null) run()
    else {
      val promise = Promise[Result]()
      val known = results.computeIfAbsent(query, _ => new ConcurrentHashMap()).putIfAbsent(plan.canonicalized, promise.future)
      if (known == null) promise.complete(scala.util.Try(run()))
      Await.result(if (known == null) promise.future else known, Duration.Inf)
    }
  }

  /** Of the service that the settings name. */
  def client(conf: SQLConf): JumpgateClient =
    clients.computeIfAbsent(
      (Settings.Address(conf), Settings.Timeout(conf)),
      { case (address, seconds) => JumpgateClient.connect(address, java.time.Duration.ofSeconds(seconds)) })

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      val of = results.remove(end.executionId.toString)
      if (of != null)
        of.values.asScala.flatMap(_.value).flatMap(_.toOption).foreach(result =>
          Receivers.all.foreach(Receivers.tell(_, Ended(result.name))))
    case _ =>
  }

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = Receivers.remove(removed.executorId)

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
    results.clear()
    clients.values.asScala.foreach(_.close())
    clients.clear()
  }
}

/** One job, from its endpoints to its end. */
private final class Submission(client: JumpgateClient, context: SparkContext, plan: LogicalPlan, root: Operator, partitions: Int) {
  private val name = UUID.randomUUID().toString
  private val started = System.nanoTime()

  def run(): Result = {
    val receivers = Receivers.all
    if (receivers.isEmpty) throw new JumpgateException(JumpgateException.UNREACHABLE, "no executor can receive a result yet")
    val used = (0 until partitions).map(i => receivers(i % receivers.size))
    try {
      val addresses = used.distinct.flatMap { receiver =>
        val mine = used.indices.filter(used(_) == receiver)
        mine.zip(Receivers.ask(receiver, Open(name, mine)))
      }.toMap
      val job = client.submit(request(used.indices.map(addresses)))
      run(job, used)
    } catch {
      case e: Throwable =>
        used.distinct.foreach(Receivers.tell(_, Drop(name)))
        throw e match {
          case known: JumpgateException => known
          case e: InterruptedException => e
          case lost => new JumpgateException(JumpgateException.UNREACHABLE, s"an executor does not answer: ${lost.getMessage}")
        }
    }
  }

  private def run(job: Job, used: Seq[Register]): Result = {
    val ready = System.nanoTime()
    val receive = Receive(name, job.id, job.edge, job.token, job.descriptor.text, job.producers)
    val received = used.distinct.map(Receivers.ask(_, receive))
    val execution = client.execute(job.id, _ => ())
    try {
      received.foreach(_.failed.foreach(_ => execution.cancel())(ExecutionContext.parasitic))
      execution.await()
      val counts = received.map(Await.result(_, Submission.LastFrames))
      val done = System.nanoTime()
      val locations = used.map(r => s"executor_${r.host}_${r.executor}")
      Result(name, locations, counts.map(_._1).sum, counts.map(_._2).sum, (ready - started) / 1000000, (done - ready) / 1000000)
    } catch {
      // what failed first explains why the job was cancelled
      case e: JumpgateException if e.code == JumpgateException.CANCELLED =>
        throw received.flatMap(_.value).flatMap(_.failed.toOption).collectFirst { case r: JumpgateException => r }.getOrElse(e)
    } finally execution.cancel()
  }

  private def request(addresses: Seq[String]): SubmitRequest = {
    val spread = if (addresses.size == 1) Partitioning.SINGLE else Partitioning.roundRobin(addresses.size)
    val dataflow = root.send(addresses.asJava, spread, Layout.COLUMNAR).request(Dialects.of(plan))
    SubmitRequest.newBuilder().setDataflow(dataflow).setText(Sessions.description(context)).build()
  }
}

private object Submission {
  /** What is still on its way when the job has ended. */
  val LastFrames: Duration = 60.seconds
}
