package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.ntf.{ColumnarFrame, Descriptor, Endpoint, Expected, MemoryAccount, Ports}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger, AtomicLong}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.jumpgate.{Backups, Receive, Received}
import scala.concurrent.Promise
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** A frame's rows and payload, on their way to another process. */
final case class FrameCopy(rows: Int, bytes: Array[Byte]) {
  /** In memory of its own, which whoever takes it gives back. */
  def frame(descriptor: Descriptor): ColumnarFrame = ColumnarFrame.of(descriptor, bytes, rows)
}

object FrameCopy {
  def of(frame: ColumnarFrame): FrameCopy = {
    val payload = frame.buffer.bytes
    val bytes = new Array[Byte](payload.remaining)
    payload.get(bytes)
    FrameCopy(frame.rows, bytes)
  }
}

/** What an executor has received, by result and partition. */
final class Results(host: String, ports: Ports, memory: MemoryAccount) extends Logging {
  private val partitions = new ConcurrentHashMap[(String, Int), Partition]()
  private val begins = new ConcurrentHashMap[String, Promise[Boolean]]()
  private val threads = Threads.named("jumpgate-receiver")

  /** Addresses of endpoints, one for each partition. */
  def open(result: String, numbers: Seq[Int]): Seq[String] = numbers.map { number =>
    val endpoint = Endpoint.open(host, ports, memory)
    partitions.put((result, number), new Partition(endpoint))
    endpoint.address
  }

  /** Calls back once all partitions are complete, or with the first error. Of small ones copies go out, and nothing stays. */
  def receive(request: Receive)(done: Either[JumpgateException, Received] => Unit): Unit = {
    import request._
    val mine = of(result)
    val descriptor = Descriptor.parse(format)
    val missing = new AtomicInteger(mine.size)
    val answered = new AtomicBoolean()
    val came = new AtomicLong()
    val begin = Promise[Boolean]()
    if (streams) begins.put(result, begin)
    def answer(outcome: Either[JumpgateException, Received]): Unit = if (answered.compareAndSet(false, true)) {
      begin.trySuccess(false)
      done(outcome)
    }
    mine.foreach { case (number, partition) =>
      partition.backup = backups(number)
      partition.descriptor = descriptor
      if (streams) partition.windowBytes = Results.WindowBytes
      partition.endpoint.expect(new Expected(job, edge, token, descriptor, producers, number, certificate.orNull))
      threads.execute { () =>
        try {
          partition.fill(bytes => if (came.addAndGet(bytes) > Results.SmallBytes) begin.trySuccess(true))
          if (missing.decrementAndGet() == 0) answer(Right(complete(result, mine)))
        } catch {
          case e: JumpgateException => answer(Left(e))
          case NonFatal(e) => answer(Left(new JumpgateException(ErrorCode.PROTOCOL, e.toString)))
        }
      }
    }
  }

  /** Calls back with true once more of a streamed result has come than travels with tasks; with false where no more will. */
  def begun(result: String)(done: Boolean => Unit): Unit =
    Option(begins.get(result)).fold(done(false))(_.future.foreach(done)(Threads.same))

  private def complete(result: String, mine: Seq[(Int, Partition)]): Received = {
    val endpoints = mine.map(_._2.endpoint)
    val (rows, bytes) = (endpoints.map(_.rows).sum, endpoints.map(_.bytes).sum)
    if (bytes > Results.SmallBytes) {
      if (Backups.areForOthers) mine.foreach(_._2.backUp())
      Received(rows, bytes, Map.empty, mine.map { case (number, partition) => number -> partition.rows }.toMap)
    } else {
      val copies = mine.map { case (number, partition) => number -> copied(partition) }.toMap
      drop(result)
      Received(rows, bytes, copies, Map.empty)
    }
  }

  private def copied(partition: Partition): Seq[FrameCopy] = partition.frames.toSeq.flatten.map { frame =>
    try FrameCopy.of(frame)
    finally frame.close()
  }

  /** If it is received here and has not been dropped. */
  private[exec] def partition(result: String, number: Int): Option[Partition] = Option(partitions.get((result, number)))

  /** A task has read all of a partition, and keeps no part of it. */
  def read(result: String, partition: Int): Unit = {
    val found = partitions.get((result, partition))
    if (found != null && found.wasRead()) retire((result, partition))
  }

  def ended(result: String): Unit = of(result).foreach { case (number, partition) =>
    if (partition.wasEnded()) retire((result, number))
  }

  def drop(result: String): Unit = {
    Option(begins.remove(result)).foreach(_.trySuccess(false))
    of(result).foreach { case (number, _) => remove((result, number)) }
  }

  def close(): Unit = {
    partitions.keySet.asScala.toSeq.foreach(remove)
    threads.shutdown()
  }

  private def of(result: String): Seq[(Int, Partition)] =
    partitions.asScala.collect { case ((`result`, number), partition) => number -> partition }.toSeq

  /** Memory is for what has not been read. What cannot be backed up stays in it. */
  private def retire(key: (String, Int)): Unit = threads.execute { () =>
    try {
      Option(partitions.get(key)).foreach(_.backUp())
      remove(key)
    } catch {
      case NonFatal(e) => logWarning(s"what was read of a result stays in memory: $e")
    }
  }

  private def remove(key: (String, Int)): Unit = {
    val partition = partitions.remove(key)
    if (partition != null) partition.close()
  }
}

private object Results {
  /** Up to here, what an executor has received travels with the tasks that read it. */
  val SmallBytes: Long = 256 << 10

  /** Of a partition that tasks read while it comes, in memory. */
  val WindowBytes: Long = 32 << 20
}
