package io.jumpgate.spark.exec

import io.jumpgate.ntf.{ColumnarFrame, Descriptor}
import io.jumpgate.spark.JumpgateExecutor
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.jumpgate.Backups
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.{Partition => SparkPartition, SparkContext, TaskContext}

/** A received partition for each of its own, with the rows that came with it, or read where it was received, or from a backup. */
final class ReceivedRDD(context: SparkContext, @transient private val result: Result, types: Array[DataType], rows: SQLMetric)
    extends RDD[ColumnarBatch](context, Nil) {
  private val received = result.name
  private val format = result.format
  @transient private lazy val descriptor = Descriptor.parse(format)

  override protected def getPartitions: Array[SparkPartition] =
    result.places.indices.map(i => ReceivedPartition(i, result.places(i)): SparkPartition).toArray

  override protected def getPreferredLocations(partition: SparkPartition): Seq[String] =
    partition.asInstanceOf[ReceivedPartition].place match {
      case Held(location, _, _) => Seq(location)
      case Copied(_) => Nil
    }

  override def compute(partition: SparkPartition, task: TaskContext): Iterator[ColumnarBatch] = {
    val frames = partition.asInstanceOf[ReceivedPartition].place match {
      case Copied(copies) => copies.iterator.map(opened(_, task))
      case held: Held => read(held, partition.index, task)
    }
    frames.map { frame =>
      rows += frame.rows
      FrameVector.batch(frame, types)
    }
  }

  private def read(held: Held, partition: Int, task: TaskContext): Iterator[ColumnarFrame] = {
    val results = JumpgateExecutor.results
    results.frames(received, partition) match {
      case Some(frames) =>
        task.addTaskCompletionListener[Unit] { _ =>
          frames.foreach(_.close())
          results.read(received, partition)
        }
        frames.iterator
      case None => Backups.read(held.backup, held.rows).map(opened(_, task))
    }
  }

  private def opened(copy: FrameCopy, task: TaskContext): ColumnarFrame = {
    val frame = ColumnarFrame.of(descriptor, copy.bytes, copy.rows)
    task.addTaskCompletionListener[Unit](_ => frame.close())
    frame
  }
}

private final case class ReceivedPartition(index: Int, place: Place) extends SparkPartition
