package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Field, Operator}
import io.jumpgate.explain.Code
import java.net.{URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale.ROOT
import java.util.Optional
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.{BinaryType, DataType, TimestampType}
import scala.jdk.CollectionConverters._

/** Tables of files as reads of these files. */
private final class ScanTranslator(session: SparkSession) {
  def apply(relation: LogicalRelation): Operator = relation.relation match {
    case files: HadoopFsRelation => read(files, relation.output)
    case other => NotOffloaded(Code.SOURCE, s"${other.getClass.getSimpleName} is not a table of files")
  }

  private def read(relation: HadoopFsRelation, output: Seq[AttributeReference]): Operator = {
    val (format, options) = formatOf(relation)
    val partitions = relation.partitionSchema.fieldNames.toSeq
    val directories = relation.location.listFiles(Nil, Nil)
    val files = directories.flatMap(_.files.map(_.getPath))
    if (files.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    val paths = files.map(localPath)
    if (partitions.nonEmpty) paths.foreach(requireFolders(_, partitions))
    val names = relation.dataSchema.fieldNames.toSeq ++ partitions
    output.find(a => !names.contains(a.name)).foreach(a => NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    if (format == "csv" && output.map(_.name) != names) NotOffloaded(Code.COLUMN, "the columns are not in the order of the files")
    val other = output.filterNot(a => isRead(a.dataType, format))
    if (other.size == output.size) NotOffloaded(Code.TYPE, "no column has a type with an exact counterpart")
    // columns of CSV files are counted
    val read = if (format == "csv") output else output.filterNot(other.contains)
    val fields = read.map(a => new Field(a.name, if (other.contains(a)) JumpgateType.STRING else Values.typeOf(a.dataType)))
    val folders = if (partitions.isEmpty) Map.empty else Map("partitions" -> partitions.map(encoded).mkString(","))
    val scan = Operator.read(
      paths.asJava,
      format,
      fields.asJava,
      fields.indices.map(Int.box).asJava,
      (options ++ folders).asJava,
      Optional.empty())
    if (other.isEmpty) scan
    else
      // a column of a type without a counterpart keeps its place; whatever names it is refused
      Scope.project(scan, output.map(a =>
        a.name -> (if (other.contains(a)) Request.nullOf(JumpgateType.BOOL) else scan.column(read.indexOf(a)))))
  }

  /** Moments are texts in JSON and CSV, and in ORC those of a clock, which Spark's session time zone tells. */
  private def isRead(dataType: DataType, format: String): Boolean = dataType match {
    case TimestampType => format == "parquet"
    case BinaryType => format == "parquet" || format == "orc"
    case _ => Values.hasType(dataType)
  }

  private def localPath(path: Path): String = {
    val uri = path.toUri
    if (uri.getScheme != null && uri.getScheme != "file") NotOffloaded(Code.SOURCE, s"files of ${uri.getScheme} are not read yet")
    uri.getPath
  }

  private def requireFolders(path: String, partitions: Seq[String]): Unit = {
    val folders = path.split('/').init.filter(_.contains('=')).map(f => URLDecoder.decode(f.takeWhile(_ != '='), UTF_8))
    if (folders.toSeq != partitions)
      NotOffloaded(Code.SOURCE, s"the folders of '$path' do not name the partition columns ${partitions.mkString(", ")}")
  }

  private def encoded(name: String): String = URLEncoder.encode(name, UTF_8).replace("+", " ")

  private def formatOf(relation: HadoopFsRelation): (String, Map[String, String]) = {
    val options = CaseInsensitiveMap(relation.options)
    def columnar(name: String): (String, Map[String, String]) = {
      val unknown = options.keySet.map(_.toLowerCase(ROOT)) -- Set("path", "paths", "serialization.format", "inferschema", "mergeschema")
      if (unknown.nonEmpty) NotOffloaded(Code.OPTION, s"the table's options ${unknown.toSeq.sorted.mkString(", ")} are Spark's own")
      (name, Map.empty)
    }
    def text = new TextOptions(options, relation.dataSchema, session.sessionState.conf)
    relation.fileFormat match {
      case _: ParquetFileFormat => columnar("parquet")
      case _: OrcFileFormat => columnar("orc")
      case _: JsonFileFormat => ("json", text.json)
      case _: CSVFileFormat => ("csv", text.csv)
      case other => NotOffloaded(Code.FORMAT, s"$other is not read")
    }
  }
}
