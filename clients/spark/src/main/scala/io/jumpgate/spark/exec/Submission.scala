package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.client.{Execution, Job, JumpgateClient}
import io.jumpgate.dataflow.{Dialect, Layout, Operator, Partitioning}
import io.jumpgate.spark.Settings
import io.jumpgate.spark.plan.{ExpressionTranslator, Rights}
import io.jumpgate.v1.{Dataflow, SubmitRequest}
import java.util.UUID
import java.util.concurrent.{CompletableFuture, TimeUnit}
import org.apache.spark.sql.catalyst.expressions.{ExprId, Expression, Literal}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.jumpgate._
import scala.concurrent.duration._
import scala.concurrent.{Await, Future, Promise}
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

/**
 * One job, from its endpoints to its end. `request`: of the addresses of the partitions. `streams`: its result is handed out as soon as
 * more of it has come than travels with tasks.
 */
private final class Submission(
    client: JumpgateClient, session: SparkSession, request: Seq[String] => Dataflow, partitions: Int, streams: Boolean) {
  private val context = session.sparkContext
  private val rights = new Rights(session) // of the user of this thread
  private val name = UUID.randomUUID().toString
  private val text = Sessions.description(context)
  private val backups = Backups.numbers(context, partitions)
  private val started = System.nanoTime()
  private val promised = Promise[Result]()
  private var handedOut = Option.empty[Stream] // with the lock

  /** On a thread of its own: Spark's cancelling and interrupts end the wait at once, wherever the job is. */
  def run(): Result = {
    val cancellable = Sessions.isCancellable(session)
    if (cancellable) StandIn.begin(context, name)(promised.tryFailure(_))
    val work = Submission.threads.submit[Any](() => end(try Success(attempt()) catch { case e: Throwable => Failure(e) }))
    try Await.result(promised.future, Duration.Inf)
    catch {
      case e: Throwable =>
        promised.tryFailure(e) // what may come now is dropped
        work.cancel(true)
        throw e
    } finally if (cancellable) StandIn.end(name)
  }

  private def end(outcome: Try[Result]): Unit = synchronized {
    handedOut match {
      case Some(stream) => stream.end(outcome)
      case None => if (!promised.tryComplete(outcome)) drop()
    }
  }

  private def attempt(): Result = {
    val receivers = Receivers.all
    if (receivers.isEmpty) throw new JumpgateException(ErrorCode.UNREACHABLE, "no executor can receive a result yet")
    val used = (0 until partitions).map(i => receivers(i % receivers.size))
    try {
      val addresses = used.distinct.flatMap { receiver =>
        val mine = used.indices.filter(used(_) == receiver)
        mine.zip(Receivers.ask(receiver, Open(name, mine)))
      }.toMap
      execute(client.submit(submitted(used.indices.map(addresses))), used)
    } catch {
      case e: Throwable =>
        drop()
        throw e
    }
  }

  /** Hands the result out while the job runs. */
  private def handOut(job: Job, used: Seq[Register], setupMs: Long, running: Execution): Unit = synchronized {
    if (!promised.isCompleted) {
      val stream = new Stream(Settings.Strict(session.sessionState.conf), () => running.cancel())
      val places = used.zipWithIndex.map { case (r, i) => Streaming(location(r), backups(i)) }
      handedOut = Some(stream)
      Streams.add(name, stream)
      if (!promised.trySuccess(new Result(name, job, places, setupMs, stream.taken))) running.cancel()
    }
  }

  private def location(receiver: Register): String = s"executor_${receiver.host}_${receiver.executor}"

  private def execute(job: Job, used: Seq[Register]): Result = {
    val ready = System.nanoTime()
    val setupMs = (ready - started) / 1000000
    val receive =
      Receive(name, job.id, job.edge, job.token, job.descriptor.text, job.producers, Option(job.certificate), backups, streams)
    val incoming = used.distinct.map(r => r -> Receivers.start(r, receive)).toMap
    val running = client.execute(job.id, _ => ())
    if (streams)
      used.distinct.foreach { receiver =>
        Receivers.start(receiver, Begin(name)).foreach(hasCome => if (hasCome) handOut(job, used, setupMs, running))(Threads.same)
      }
    try {
      incoming.values.foreach(_.failed.foreach {
        // most likely the job has failed, and will say why
        case e: JumpgateException if e.isUnreachable => Submission.soon.execute(() => running.cancel())
        case _ => running.cancel()
      }(Threads.same))
      running.await()
      val received = incoming.map { case (receiver, all) => receiver -> Await.result(all, Submission.LastFrames) }
      val done = System.nanoTime()
      val places = used.zipWithIndex.map { case (r, i) =>
        received(r).copies.get(i).fold[Place](Held(location(r), backups(i), received(r).frames(i)))(Copied)
      }
      new Result(
        name, job, places, setupMs, Future.successful(Taken(received.values.map(_.bytes).sum, executionMs = (done - ready) / 1000000)))
    } catch {
      // what failed first explains why the job was cancelled
      case e: JumpgateException if e.is(ErrorCode.CANCELLED) =>
        throw incoming.values.flatMap(_.value).flatMap(_.failed.toOption).collectFirst { case r: JumpgateException => r }.getOrElse(e)
      case _: java.util.concurrent.TimeoutException =>
        throw new JumpgateException(
          ErrorCode.TIMED_OUT, s"the last rows did not come within ${Submission.LastFrames.toSeconds} s after the job's end")
    } finally running.cancel()
  }

  private def drop(): Unit = {
    Receivers.tell(Drop(name))
    Backups.drop(backups.values)
  }

  private def submitted(addresses: Seq[String]): SubmitRequest = {
    val dataflow = request(addresses)
    SubmitRequest.newBuilder().setDataflow(dataflow).setText(text).addAllCredentials(rights.of(dataflow).asJava).build()
  }
}

private[spark] object Submission {
  /** What is still on its way when the job has ended. */
  val LastFrames: Duration = 60.seconds

  private val threads = Threads.named("jumpgate-job")
  private val soon = CompletableFuture.delayedExecutor(8, TimeUnit.SECONDS)

  /** A partition of the rows of `root` goes to each address. `results`: of subqueries, as far as they are known. */
  def dataflow(root: Operator, dialect: Dialect, addresses: Seq[String], results: Map[ExprId, Literal] = Map.empty): Dataflow = {
    val spread = if (addresses.size == 1) Partitioning.SINGLE else Partitioning.roundRobin(addresses.size)
    val sent = root.send(addresses.asJava, spread, Layout.COLUMNAR)
    if (results.isEmpty) sent.request(dialect)
    else sent.request(dialect, key => ExpressionTranslator.parameter(key.asInstanceOf[Expression], results))
  }
}
