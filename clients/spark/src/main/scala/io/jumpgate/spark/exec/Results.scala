package io.jumpgate.spark.exec

import io.jumpgate.JumpgateException
import io.jumpgate.ntf.{ColumnarFrame, Descriptor, Endpoint, Expected, MemoryAccount}
import java.net.InetSocketAddress
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import java.util.concurrent.{ConcurrentHashMap, Executors}
import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** What an executor has received, by result and partition. Nothing of a result is read before the driver says that it is complete. */
final class Results(host: String, memory: MemoryAccount) {
  private val partitions = new ConcurrentHashMap[(String, Int), Partition]()
  private val threads = Executors.newCachedThreadPool { (task: Runnable) =>
    val thread = new Thread(task, "jumpgate-receiver")
    thread.setDaemon(true)
    thread
  }

  /** Addresses of endpoints, one for each partition. */
  def open(result: String, numbers: Seq[Int]): Seq[String] = numbers.map { number =>
    val endpoint = Endpoint.open(new InetSocketAddress(host, 0), host, memory)
    partitions.put((result, number), new Partition(endpoint))
    endpoint.address
  }

  /** Calls `done` with rows and bytes once all partitions are complete, or `failed` with the first error. */
  def receive(result: String, job: String, edge: String, token: String, format: String, producers: Int)(
      done: ((Long, Long)) => Unit)(failed: Throwable => Unit): Unit = {
    val mine = of(result)
    val descriptor = Descriptor.parse(format)
    val missing = new AtomicInteger(mine.size)
    val rows, bytes = new AtomicLong()
    mine.foreach { case (number, partition) =>
      partition.endpoint.expect(new Expected(job, edge, token, descriptor, producers, number))
      threads.execute { () =>
        try {
          partition.fill()
          rows.addAndGet(partition.endpoint.rows)
          bytes.addAndGet(partition.endpoint.bytes)
          if (missing.decrementAndGet() == 0) done((rows.get, bytes.get))
        } catch {
          case e: JumpgateException => failed(e)
        }
      }
    }
  }

  /** The frames of a complete partition. Raises JumpgateException if they are not here. */
  def frames(result: String, partition: Int): Seq[ColumnarFrame] = {
    val found = partitions.get((result, partition))
    if (found == null)
      throw new JumpgateException(
        JumpgateException.UNREACHABLE,
        s"partition $partition of a result was received by an executor that is lost, or has been dropped")
    found.frames
  }

  /** A task has read all of a partition, and keeps no part of it. */
  def read(result: String, partition: Int): Unit = {
    val found = partitions.get((result, partition))
    if (found != null && found.wasRead()) remove((result, partition))
  }

  def ended(result: String): Unit = of(result).foreach { case (number, partition) =>
    if (partition.wasEnded()) remove((result, number))
  }

  def drop(result: String): Unit = of(result).foreach { case (number, _) => remove((result, number)) }

  def close(): Unit = {
    partitions.keySet.asScala.toSeq.foreach(remove)
    threads.shutdown()
  }

  private def of(result: String): Seq[(Int, Partition)] =
    partitions.asScala.collect { case ((`result`, number), partition) => number -> partition }.toSeq

  private def remove(key: (String, Int)): Unit = {
    val partition = partitions.remove(key)
    if (partition != null) partition.close()
  }
}

private final class Partition(val endpoint: Endpoint) {
  private val received = mutable.ArrayBuffer[ColumnarFrame]()
  private var closed, read, ended = false

  /** Until all producers have ended. */
  def fill(): Unit = {
    Iterator.continually(endpoint.next()).takeWhile(_ != null).foreach {
      case frame: ColumnarFrame =>
        synchronized {
          if (closed) frame.close() else received += frame
        }
      case other => throw new JumpgateException(JumpgateException.PROTOCOL, s"a frame that is not columnar: $other")
    }
    endpoint.close()
  }

  def frames: Seq[ColumnarFrame] = synchronized(received.toSeq)

  /** Whether nobody will read it again. */
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
