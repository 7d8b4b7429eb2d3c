package org.apache.spark.sql.jumpgate

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.ntf.{EdgeCertificate, MemoryAccount}
import io.jumpgate.spark.exec.{FrameCopy, Results, Threads}
import java.util.UUID
import org.apache.spark.SparkEnv
import org.apache.spark.memory.MemoryMode
import org.apache.spark.rpc._
import org.apache.spark.storage.TempLocalBlockId
import org.apache.spark.util.Utils
import scala.collection.mutable
import scala.concurrent.duration._
import scala.concurrent.Future

/** What an executor tells the driver when it starts: how to reach its receiver. */
final case class Register(executor: String, host: String, receiver: RpcEndpointRef)

/** The driver's requests to a receiver, and the type of the answer. `result` names what is received. */
sealed trait ReceiverRequest[Answer] extends Serializable

/** Opens an endpoint for each partition; the answer is their addresses. */
final case class Open(result: String, partitions: Seq[Int]) extends ReceiverRequest[Seq[String]]

/**
 * Lets the job's producers in; the answer comes when all partitions are complete. `backups`: by partition, see [[Backups]]. `streams`:
 * tasks may read before that, and what does not fit into a window of memory goes to disk.
 */
final case class Receive(
    result: String,
    job: String,
    edge: String,
    token: String,
    format: String,
    producers: Int,
    certificate: Option[EdgeCertificate],
    backups: Map[Int, Int],
    streams: Boolean)
    extends ReceiverRequest[Received]

/** Waits until more of a streamed result has come than travels with tasks; false: no more will. */
final case class Begin(result: String) extends ReceiverRequest[Boolean]

/**
 * What an executor has received. `copies`: of all frames by partition, if they are small; then it keeps none itself. Else `frames`: the
 * rows of each.
 */
final case class Received(rows: Long, bytes: Long, copies: Map[Int, Seq[FrameCopy]], frames: Map[Int, Seq[Int]])

/** Nobody waits for it any longer: what is open is closed, what was received is dropped. */
final case class Drop(result: String) extends ReceiverRequest[Unit]

/** The query has ended: what was read is dropped, the rest once it has been read. */
final case class Ended(result: String) extends ReceiverRequest[Unit]

/**
 * Answers the driver's requests on an executor. Both sides send bytes: Spark's own deserialiser there does not know the classes of
 * a plugin.
 */
final class Receiver(override val rpcEnv: RpcEnv, results: Results) extends IsolatedThreadSafeRpcEndpoint {
  override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = { case bytes: Array[Byte] =>
    Message.read[ReceiverRequest[_]](bytes) match {
      case Open(result, partitions) => answer(context)(results.open(result, partitions))
      case r: Receive =>
        results.receive(r) {
          case Right(received) => answer(context)(received)
          case Left(error) => answer(context)(throw error)
        }
      case Begin(result) => results.begun(result)(has => answer(context)(has))
      case Drop(result) => answer(context)(results.drop(result))
      case Ended(result) => answer(context)(results.ended(result))
    }
  }

  private def answer(context: RpcCallContext)(value: => Any): Unit =
    context.reply(Message.answer(value))
}

/** Values as bytes, which a plugin's own classes are read from. */
object Message {
  def write(value: Any): Array[Byte] = Utils.serialize(value)

  def answer(value: => Any): Array[Byte] = write(try Right(value) catch { case e: JumpgateException => Left(e) })

  def read[T](bytes: Array[Byte]): T = Utils.deserialize[T](bytes, getClass.getClassLoader)
}

/** The executors of one application: each registers once, when it starts, and Spark says when it is removed. Thread-safe. */
final class Executors {
  private val known = mutable.SortedMap.empty[String, Register]
  private val removed = mutable.Set.empty[String] // Spark gives no number of an executor twice

  /** Ignores an executor that was removed before it came to register. */
  def register(executor: Register): Unit = synchronized { if (!removed(executor.executor)) known(executor.executor) = executor }

  def remove(executor: String): Unit = synchronized {
    known -= executor
    removed += executor
  }

  /** In a stable order. */
  def all: Seq[Register] = synchronized(known.values.toSeq)
}

/** The driver's view of the receivers of the running application's executors. */
object Receivers {
  /** A job may take as long as it likes: the service says when it fails. */
  private val Forever = new RpcTimeout(7.days, "spark.jumpgate")
  private val Soon = new RpcTimeout(30.seconds, "spark.jumpgate")

  @volatile private var executors = new Executors

  /** Starts an application, of which no executor is known. An executor of the previous one that is still starting stays out. */
  def begin(): Executors = {
    executors = new Executors
    executors
  }

  def remove(executor: String): Unit = executors.remove(executor)

  /** In a stable order. */
  def all: Seq[Register] = executors.all

  /** Waits for an answer. Raises JumpgateException. */
  def ask[Answer](receiver: Register, request: ReceiverRequest[Answer]): Answer =
    try answer(receiver.receiver.askSync[Array[Byte]](Message.write(request), Soon))
    catch {
      case e: JumpgateException => throw e
      case e: Exception => throw lost(receiver.executor, e)
    }

  /** The answer comes when what it waits for has been received. Fails by JumpgateException. */
  def start[Answer](receiver: Register, request: ReceiverRequest[Answer]): Future[Answer] =
    receiver.receiver
      .ask[Array[Byte]](Message.write(request), Forever)
      .map(answer[Answer](_))(Threads.same)
      .recover {
        case e: JumpgateException => throw e
        case e: Exception => throw lost(receiver.executor, e)
      }(Threads.same)

  /** Tells it to all executors; one that is gone has dropped everything. */
  def tell(request: ReceiverRequest[Unit]): Unit = all.foreach(_.receiver.ask[Array[Byte]](Message.write(request), Soon))

  /** By which an executor is reached; one that is not the driver listens to no requests of others, so its blocks say it. */
  def host: String = {
    val env = SparkEnv.get
    Option(env.rpcEnv.address).fold(env.blockManager.blockManagerId.host)(_.host)
  }

  /** On an executor: starts to answer. */
  def serve(executor: String, host: String, results: Results): Register = {
    val env = SparkEnv.get.rpcEnv
    Register(executor, host, env.setupEndpoint("jumpgate-receiver", new Receiver(env, results)))
  }

  private def answer[Answer](bytes: Array[Byte]): Answer =
    Message.read[Either[JumpgateException, Answer]](bytes).fold(throw _, identity)

  private def lost(executor: String, cause: Exception): JumpgateException =
    new JumpgateException(
      ErrorCode.UNREACHABLE,
      s"executor $executor, which receives a result, is lost: ${cause.getMessage}")
}

/** Received frames count as Spark's storage memory, for which cached tables make room. */
object StorageMemory extends MemoryAccount {
  override def acquire(bytes: Long): Unit = {
    val block = TempLocalBlockId(UUID.randomUUID())
    if (!SparkEnv.get.memoryManager.acquireStorageMemory(block, bytes, MemoryMode.ON_HEAP))
      throw new JumpgateException(
        ErrorCode.MEMORY,
        s"Spark has no $bytes bytes of storage memory left for a result; raise spark.executor.memory")
  }

  override def release(bytes: Long): Unit = SparkEnv.get.memoryManager.releaseStorageMemory(bytes, MemoryMode.ON_HEAP)
}
