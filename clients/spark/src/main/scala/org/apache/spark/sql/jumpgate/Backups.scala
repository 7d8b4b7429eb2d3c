package org.apache.spark.sql.jumpgate

import io.jumpgate.{ErrorCode, JumpgateException}
import io.jumpgate.ntf.ColumnarFrame
import io.jumpgate.spark.exec.FrameCopy
import java.nio.ByteBuffer
import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.storage.{RDDBlockId, StorageLevel}
import org.apache.spark.util.io.ChunkedByteBuffer
import scala.reflect.ClassTag

/**
 * What executors have received, on disk as blocks of Spark's: for tasks that run elsewhere, for when an executor is lost, and for who
 * reads a result again, as a cached table does where it lost a block. A partition's frames are blocks of an RDD that exists by its number
 * only; Spark keeps executors that have some.
 */
object Backups {
  /** On the driver: numbers that nobody else uses, by partition. */
  def numbers(context: SparkContext, partitions: Int): Map[Int, Int] = (0 until partitions).map(_ -> context.newRddId()).toMap

  /** Whether there are other executors, which need them at once. */
  def areForOthers: Boolean = SparkEnv.get.executorId != SparkContext.DRIVER_IDENTIFIER

  /** Keeps a frame on two executors, if there are others. Raises JumpgateException where there is no room. */
  def keep(number: Int, place: Int, frame: ColumnarFrame): Unit = {
    val level = if (areForOthers) StorageLevel.DISK_ONLY_2 else StorageLevel.DISK_ONLY
    val bytes = new ChunkedByteBuffer(frame.buffer.bytes)
    if (!SparkEnv.get.blockManager.putBytes(RDDBlockId(number, place), bytes, level)(ClassTag(classOf[Array[Byte]])))
      throw new JumpgateException(ErrorCode.MEMORY, "Spark has no room on disk for a result")
  }

  /** The frame of a place again, which has so many rows. Raises JumpgateException where it is lost. */
  def read(number: Int, place: Int, rows: Int): FrameCopy = {
    val block = RDDBlockId(number, place)
    FrameCopy(rows, here(block).orElse(elsewhere(block)).getOrElse(
      throw new JumpgateException(ErrorCode.UNREACHABLE, "executors that kept a partition of a result are lost")))
  }

  private def here(block: RDDBlockId): Option[Array[Byte]] = {
    val manager = SparkEnv.get.blockManager
    manager.getLocalBytes(block).map { found =>
      try found.toChunkedByteBuffer(ByteBuffer.allocate).toArray
      finally {
        found.dispose()
        manager.releaseLock(block)
      }
    }
  }

  private def elsewhere(block: RDDBlockId): Option[Array[Byte]] =
    SparkEnv.get.blockManager.getRemoteBytes(block).map { found =>
      try found.toArray
      finally found.dispose()
    }

  /** On the driver. */
  def drop(numbers: Iterable[Int]): Unit =
    Option(SparkEnv.get).foreach(env => numbers.foreach(env.blockManager.master.removeRdd(_, blocking = false)))
}
