package org.apache.spark.sql.jumpgate

import io.jumpgate.JumpgateException
import io.jumpgate.ntf.MemoryAccount
import io.jumpgate.spark.exec.Results
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.SparkEnv
import org.apache.spark.memory.MemoryMode
import org.apache.spark.rpc._
import org.apache.spark.storage.TempLocalBlockId
import scala.concurrent.Future
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** What an executor tells the driver when it starts: how to reach its receiver. */
final case class Register(executor: String, host: String, receiver: RpcEndpointRef)

/** The driver's requests to a receiver. `result` names what is received. */
sealed trait ReceiverRequest extends Serializable

/** Opens an endpoint for each partition; the answer is their addresses. */
final case class Open(result: String, partitions: Seq[Int]) extends ReceiverRequest

/** Lets the job's producers in; the answer, rows and bytes, comes when all partitions are complete. */
final case class Receive(result: String, job: String, edge: String, token: String, format: String, producers: Int)
    extends ReceiverRequest

/** Nobody waits for it any longer: what is open is closed, what was received is dropped. */
final case class Drop(result: String) extends ReceiverRequest

/** The query has ended: what was read is dropped, the rest once it has been read. */
final case class Ended(result: String) extends ReceiverRequest

/** Answers the driver's requests on an executor. */
final class Receiver(override val rpcEnv: RpcEnv, results: Results) extends IsolatedThreadSafeRpcEndpoint {
  override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
    case Open(result, partitions) => answer(context)(results.open(result, partitions))
    case r: Receive =>
      results.receive(r.result, r.job, r.edge, r.token, r.format, r.producers)(context.reply)(context.sendFailure)
    case Drop(result) => answer(context)(results.drop(result))
    case Ended(result) => answer(context)(results.ended(result))
  }

  private def answer(context: RpcCallContext)(value: => Any): Unit =
    try context.reply(value)
    catch { case e: JumpgateException => context.sendFailure(e) }
}

/** The driver's view of the receivers of all executors. */
object Receivers {
  /** A job may take as long as it likes: the service says when it fails. */
  private val Forever = new RpcTimeout(7.days, "spark.jumpgate")
  private val Soon = new RpcTimeout(30.seconds, "spark.jumpgate")

  private val known = new ConcurrentHashMap[String, Register]()

  def register(executor: Register): Unit = known.put(executor.executor, executor)

  def remove(executor: String): Unit = known.remove(executor)

  /** In a stable order. */
  def all: Seq[Register] = known.values.asScala.toSeq.sortBy(_.executor)

  def ask(receiver: Register, open: Open): Seq[String] = receiver.receiver.askSync[Seq[String]](open, Soon)

  def ask(receiver: Register, receive: Receive): Future[(Long, Long)] = receiver.receiver.ask[(Long, Long)](receive, Forever)

  /** An executor that is gone has dropped everything. */
  def tell(receiver: Register, message: ReceiverRequest): Unit = receiver.receiver.ask[Any](message, Soon)

  /** On an executor: starts to answer. */
  def start(executor: String, host: String, results: Results): Register = {
    val env = SparkEnv.get.rpcEnv
    Register(executor, host, env.setupEndpoint("jumpgate-receiver", new Receiver(env, results)))
  }
}

/** Received frames count as Spark's storage memory, for which cached tables make room. */
object StorageMemory extends MemoryAccount {
  override def acquire(bytes: Long): Unit = {
    val block = TempLocalBlockId(UUID.randomUUID())
    if (!SparkEnv.get.memoryManager.acquireStorageMemory(block, bytes, MemoryMode.ON_HEAP))
      throw new JumpgateException(
        JumpgateException.MEMORY,
        s"Spark has no $bytes bytes of storage memory left for a result; raise spark.executor.memory")
  }

  override def release(bytes: Long): Unit = SparkEnv.get.memoryManager.releaseStorageMemory(bytes, MemoryMode.ON_HEAP)
}
