package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.ntf.{ColumnarFrame, Descriptor, Endpoint}
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.spark.sql.jumpgate.Backups
import scala.collection.mutable

/** What an executor receives of one partition: its frames in their order, in memory or, beyond a window of bytes, on disk. */
private[exec] final class Partition(val endpoint: Endpoint) {
  private val received = mutable.ArrayBuffer[Partition.Kept]()
  private var heldBytes = 0L
  private var filled, closed, read, ended = false
  private val backedUp = new AtomicBoolean()

  /** See [[Backups]]. */
  @volatile var backup: Int = _
  @volatile var windowBytes: Long = Long.MaxValue
  @volatile var descriptor: Descriptor = _

  /** Until all producers have ended. `came` is told the bytes of each frame. */
  def fill(came: Long => Unit): Unit =
    try {
      Iterator.continually(endpoint.next()).takeWhile(_ != null).foreach {
        case frame: ColumnarFrame =>
          val bytes = frame.buffer.length.toLong
          add(frame, bytes)
          while (isBeyondWindow) evict()
          came(bytes)
        case other => throw new JumpgateException(ErrorCode.PROTOCOL, s"a frame that is not columnar: $other")
      }
      endpoint.close()
    } finally
      synchronized {
        filled = true
        notifyAll()
      }

  private def add(frame: ColumnarFrame, bytes: Long): Unit = synchronized {
    if (closed) frame.close()
    else {
      received += new Partition.Kept(frame)
      heldBytes += bytes
      notifyAll()
    }
  }

  private def isBeyondWindow: Boolean = synchronized(heldBytes > windowBytes)

  /** Moves a frame to disk: the first one that was read, or else the last one. */
  private def evict(): Unit = {
    val place = synchronized {
      received.indexWhere(k => k.frame != null && k.read) match {
        case -1 => received.lastIndexWhere(_.frame != null)
        case i => i
      }
    }
    if (place >= 0) {
      keep(place)
      synchronized {
        if (!closed) {
          val kept = received(place)
          heldBytes -= kept.frame.buffer.length
          kept.frame.close()
          kept.frame = null
        }
      }
    }
  }

  private def keep(place: Int): Unit = synchronized {
    Option(received.applyOrElse(place, (_: Int) => null)).filter(k => k.frame != null && !k.onDisk).map { kept =>
      kept.frame.buffer.retain()
      (kept, kept.frame)
    }
  }.foreach { case (kept, frame) =>
    try {
      Backups.keep(backup, place, frame)
      kept.onDisk = true
    } finally frame.close()
  }

  /** Rows of each frame. */
  def rows: Seq[Int] = synchronized(received.map(_.rows).toSeq)

  /**
   * The frame of a place with a reference of its own, once it has come; None if there is no such frame, or no more by now: the partition
   * was dropped. `check` is called while it waits.
   */
  def frame(place: Int)(check: => Unit): Option[ColumnarFrame] = {
    val kept = synchronized {
      while (!closed && !filled && place >= received.size) {
        wait(Partition.WaitMs)
        check
      }
      if (closed || place >= received.size) None
      else {
        val kept = received(place)
        kept.read = true
        if (kept.frame != null) kept.frame.buffer.retain()
        Some((kept.rows, Option(kept.frame)))
      }
    }
    kept.map { case (rows, inMemory) => inMemory.getOrElse(Backups.read(backup, place, rows).frame(descriptor)) }
  }

  /** All of a complete partition, each with a reference of its own, unless it was dropped. */
  def frames: Option[Seq[ColumnarFrame]] = {
    val found = rows.indices.flatMap(frame(_)(()))
    if (found.size == rows.size && !isClosed) Some(found)
    else {
      found.foreach(_.close())
      None
    }
  }

  private def isClosed: Boolean = synchronized(closed)

  /** Once. */
  def backUp(): Unit = if (!backedUp.getAndSet(true)) rows.indices.foreach(keep)

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
      received.filter(_.frame != null).foreach(_.frame.close())
      received.clear()
      heldBytes = 0
      notifyAll()
    }
  }
}

private object Partition {
  private val WaitMs = 50L

  /** `frame`: null once it is on disk alone. */
  private final class Kept(var frame: ColumnarFrame) {
    val rows: Int = frame.rows
    var read = false
    @volatile var onDisk = false
  }
}
