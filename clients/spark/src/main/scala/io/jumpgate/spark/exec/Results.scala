package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.ntf.{ColumnarFrame, Descriptor, Endpoint, Expected, MemoryAccount, Ports}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.jumpgate.{Backups, Receive, Received}
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** A frame's rows and payload, on their way to another process. */
final case class FrameCopy(rows: Int, bytes: Array[Byte])

object FrameCopy {
  def of(frame: ColumnarFrame): FrameCopy = {
    val payload = frame.buffer.bytes
    val bytes = new Array[Byte](payload.remaining)
    payload.get(bytes)
    FrameCopy(frame.rows, bytes)
  }
}

/** What an executor has received, by result and partition. Nothing of a result is read before the driver says that it is complete. */
final class Results(host: String, ports: Ports, memory: MemoryAccount) extends Logging {
  private val partitions = new ConcurrentHashMap[(String, Int), Partition]()
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
    def answer(outcome: Either[JumpgateException, Received]): Unit = if (answered.compareAndSet(false, true)) done(outcome)
    mine.foreach { case (number, partition) =>
      partition.backup = backups(number)
      partition.endpoint.expect(new Expected(job, edge, token, descriptor, producers, number, certificate.orNull))
      threads.execute { () =>
        try {
          partition.fill()
          if (missing.decrementAndGet() == 0) answer(Right(complete(result, mine)))
        } catch {
          case e: JumpgateException => answer(Left(e))
          case NonFatal(e) => answer(Left(new JumpgateException(ErrorCode.PROTOCOL, e.toString)))
        }
      }
    }
  }

  private def complete(result: String, mine: Seq[(Int, Partition)]): Received = {
    val endpoints = mine.map(_._2.endpoint)
    val (rows, bytes) = (endpoints.map(_.rows).sum, endpoints.map(_.bytes).sum)
    val frames = mine.map { case (number, partition) => number -> partition.frames }.toMap
    if (bytes > Results.SmallBytes) {
      if (Backups.areForOthers) mine.foreach(_._2.backUp())
      Received(rows, bytes, Map.empty, frames.map { case (number, all) => number -> all.map(_.rows) })
    } else {
      val copies = frames.map { case (number, all) => number -> all.map(FrameCopy.of) }
      drop(result)
      Received(rows, bytes, copies, Map.empty)
    }
  }

  /** The frames of a complete partition, if it was received here and has not been dropped. Whoever takes them closes each. */
  def frames(result: String, partition: Int): Option[Seq[ColumnarFrame]] =
    Option(partitions.get((result, partition))).flatMap(_.shared())

  /** A task has read all of a partition, and keeps no part of it. */
  def read(result: String, partition: Int): Unit = {
    val found = partitions.get((result, partition))
    if (found != null && found.wasRead()) retire((result, partition))
  }

  def ended(result: String): Unit = of(result).foreach { case (number, partition) =>
    if (partition.wasEnded()) retire((result, number))
  }

  def drop(result: String): Unit = of(result).foreach { case (number, _) => remove((result, number)) }

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
}

private final class Partition(val endpoint: Endpoint) {
  private val received = mutable.ArrayBuffer[ColumnarFrame]()
  private var closed, read, ended = false
  private val backedUp = new AtomicBoolean()

  /** See [[Backups]]. */
  @volatile var backup: Int = _

  /** Until all producers have ended. */
  def fill(): Unit = {
    Iterator.continually(endpoint.next()).takeWhile(_ != null).foreach {
      case frame: ColumnarFrame =>
        synchronized {
          if (closed) frame.close() else received += frame
        }
      case other => throw new JumpgateException(ErrorCode.PROTOCOL, s"a frame that is not columnar: $other")
    }
    endpoint.close()
  }

  def frames: Seq[ColumnarFrame] = synchronized(received.toSeq)

  /** With a reference of its own to each. */
  def shared(): Option[Seq[ColumnarFrame]] = synchronized {
    if (closed) None
    else {
      received.foreach(_.buffer.retain())
      Some(received.toSeq)
    }
  }

  /** Once. */
  def backUp(): Unit = shared().foreach { frames =>
    try if (!backedUp.getAndSet(true)) Backups.keep(backup, frames)
    finally frames.foreach(_.close())
  }

  /** Whether it is to be retired. */
  def wasRead(): Boolean = synchronized {
    read = true
    ended
  }

  def wasEnded(): Boolean = synchronized {
    ended = true
    read
  }

  def close(): Unit = {
    endpoint.close()
    synchronized {
      closed = true
      received.foreach(_.close())
      received.clear()
    }
  }
}
