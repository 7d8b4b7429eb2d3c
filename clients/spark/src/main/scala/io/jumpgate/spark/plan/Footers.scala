package io.jumpgate.spark.plan

import io.jumpgate.explain.Code
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.OrcFile
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.Type
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** Columns of files as their footers have them, which are read before a query is planned. */
private object Footers {
  /** Of one table. */
  val FilesMax = 1000

  /** A column, or a part of one: its name, and its own parts by their numbers. */
  final case class Stored(name: String, parts: Map[Int, Stored])

  /** Names of a file's columns. */
  def names(file: Path, format: String, conf: Configuration): Seq[String] =
    if (format == "orc") explained(file) {
      val reader = OrcFile.createReader(file, OrcFile.readerOptions(conf))
      try reader.getSchema.getFieldNames.asScala.toSeq
      finally reader.close()
    }
    else parquet(file, conf).map(_.getName)

  /** Columns of a file of Parquet by their numbers. */
  def numbered(file: Path, conf: Configuration): Map[Int, Stored] =
    parquet(file, conf).map { column =>
      if (column.getId == null) NotOffloaded(Code.SOURCE, "an Iceberg table has files of others")
      column.getId.intValue -> Stored(column.getName, parts(column))
    }.toMap

  private def parquet(file: Path, conf: Configuration): Seq[Type] = explained(file) {
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(file, conf))
    try reader.getFooter.getFileMetaData.getSchema.getFields.asScala.toSeq
    finally reader.close()
  }

  /** A group without a number is Parquet's own, around the elements of a list or a map. */
  private def parts(column: Type): Map[Int, Stored] =
    if (column.isPrimitive) Map.empty
    else
      column.asGroupType.getFields.asScala.flatMap { part =>
        if (part.getId == null) parts(part) else Map(part.getId.intValue -> Stored(part.getName, parts(part)))
      }.toMap

  private def explained[T](file: Path)(read: => T): T =
    try read
    catch { case NonFatal(e) => NotOffloaded(Code.SOURCE, s"the footer of '$file' is not to be read: $e") }
}
