package io.jumpgate.spark.exec

import io.jumpgate.ntf.{ColumnarFrame, Descriptor}
import io.jumpgate.spark.JumpgateExecutor
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.jumpgate.Backups
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.{NarrowDependency, Partition => SparkPartition, SparkContext, TaskContext}

/**
 * A received partition for each of its own, with the rows that came with it, or read where it was received, or from a backup. `own`:
 * Spark's rows in place of those of a result that is read while its job runs, should this fail.
 */
final class ReceivedRDD(
    context: SparkContext,
    @transient private val result: Result,
    types: Array[DataType],
    rows: SQLMetric,
    own: Option[RDD[ColumnarBatch]])
    extends RDD[ColumnarBatch](context, own.map(new Dealt(_, result.places.size)).toSeq) {
  private val received = result.name
  private val format = result.format
  @transient private lazy val descriptor = Descriptor.parse(format)

  override protected def getPartitions: Array[SparkPartition] =
    result.places.indices.map { i =>
      val parents = dependencies.flatMap { case dealt: Dealt => dealt.getParents(i).map(dealt.rdd.partitions(_)) }
      ReceivedPartition(i, result.places(i), parents): SparkPartition
    }.toArray

  override protected def getPreferredLocations(partition: SparkPartition): Seq[String] =
    partition.asInstanceOf[ReceivedPartition].place match {
      case Held(location, _, _) => Seq(location)
      case Streaming(location, _) => Seq(location)
      case Copied(_) => Nil
    }

  override def compute(partition: SparkPartition, task: TaskContext): Iterator[ColumnarBatch] = {
    val of = partition.asInstanceOf[ReceivedPartition]
    of.place match {
      case Copied(copies) => batches(copies.iterator.map(opened(_, task)))
      case held: Held => batches(read(held, of.index, task))
      case _: Streaming =>
        val frames = new StreamedFrames(received, of.index, descriptor, task)
        if (frames.isLost) of.parents.iterator.flatMap(firstParent[ColumnarBatch].iterator(_, task)) else batches(frames)
    }
  }

  private def batches(frames: Iterator[ColumnarFrame]): Iterator[ColumnarBatch] = frames.map { frame =>
    rows += frame.rows
    FrameVector.batch(frame, types)
  }

  private def read(held: Held, partition: Int, task: TaskContext): Iterator[ColumnarFrame] = {
    val results = JumpgateExecutor.results
    results.partition(received, partition).flatMap(_.frames) match {
      case Some(frames) =>
        task.addTaskCompletionListener[Unit] { _ =>
          frames.foreach(_.close())
          results.read(received, partition)
        }
        frames.iterator
      case None => held.rows.indices.iterator.map(i => opened(Backups.read(held.backup, i, held.rows(i)), task))
    }
  }

  private def opened(copy: FrameCopy, task: TaskContext): ColumnarFrame = {
    val frame = copy.frame(descriptor)
    task.addTaskCompletionListener[Unit](_ => frame.close())
    frame
  }
}

/** `parents`: Spark's own partitions that have the rows of such a part of the result. */
private final case class ReceivedPartition(index: Int, place: Place, parents: Seq[SparkPartition]) extends SparkPartition

/** Each of so many partitions has every so-manieth of another RDD's. */
private final class Dealt(of: RDD[ColumnarBatch], partitions: Int) extends NarrowDependency[ColumnarBatch](of) {
  override def getParents(partition: Int): Seq[Int] = partition until rdd.partitions.length by partitions
}
