package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Field, Operator}
import io.jumpgate.explain.Code
import java.net.{URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Optional
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.TimestampType
import scala.jdk.CollectionConverters._

/** Tables of files as reads of these files. */
private final class ScanTranslator(session: SparkSession) {
  def apply(relation: LogicalRelation): Operator = relation.relation match {
    case files: HadoopFsRelation => read(files, relation.output)
    case other => NotOffloaded(Code.SOURCE, s"${other.getClass.getSimpleName} is not a table of files")
  }

  private def read(relation: HadoopFsRelation, output: Seq[AttributeReference]): Operator = {
    val (format, options) = formatOf(relation.fileFormat, CaseInsensitiveMap(relation.options))
    val partitions = relation.partitionSchema.fieldNames.toSeq
    val directories = relation.location.listFiles(Nil, Nil)
    val files = directories.flatMap(_.files.map(_.getPath))
    if (files.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    val paths = files.map(localPath)
    if (partitions.nonEmpty) paths.foreach(requireFolders(_, partitions))
    val names = relation.dataSchema.fieldNames.toSet ++ partitions
    output.find(a => !names(a.name)).foreach(a => NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    // moments are texts in JSON, and in ORC those of a clock, which Spark's session time zone tells
    val (known, other) = output.partition(a => Values.hasType(a.dataType) && (a.dataType != TimestampType || format == "parquet"))
    if (known.isEmpty) NotOffloaded(Code.TYPE, "no column has a type with an exact counterpart")
    val fields = known.map(a => new Field(a.name, Values.typeOf(a.dataType)))
    val folders = if (partitions.isEmpty) Map.empty else Map("partitions" -> partitions.map(encoded).mkString(","))
    val read = Operator.read(
      paths.asJava,
      format,
      fields.asJava,
      fields.indices.map(Int.box).asJava,
      (options ++ folders).asJava,
      Optional.empty())
    if (other.isEmpty) read
    else
      // a column of a type without a counterpart keeps its place; whatever names it is refused
      Scope.project(read, output.map(a =>
        a.name -> (if (other.contains(a)) Request.nullOf(JumpgateType.BOOL) else read.column(known.indexOf(a)))))
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

  private def formatOf(format: FileFormat, options: CaseInsensitiveMap[String]): (String, Map[String, String]) = {
    def only(name: String, known: Set[String], read: Map[String, String] = Map.empty): (String, Map[String, String]) = {
      val unknown = options.keySet.map(_.toLowerCase) -- known - "path" - "paths" - "serialization.format" - "inferschema"
      if (unknown.nonEmpty) NotOffloaded(Code.OPTION, s"the table's options ${unknown.toSeq.sorted.mkString(", ")} are Spark's own")
      (name, read)
    }
    format match {
      case _: ParquetFileFormat => only("parquet", Set("mergeschema"))
      case _: OrcFileFormat => only("orc", Set("mergeschema"))
      // where Spark has NULL for a value of another type, Jumpgate fails, and Spark reads the file
      case _: JsonFileFormat => only("json", Set.empty, Map("values" -> "exact"))
      case _: CSVFileFormat => NotOffloaded(Code.FORMAT, "CSV is read by Spark's own rules of quotes and escapes")
      case other => NotOffloaded(Code.FORMAT, s"$other is not read")
    }
  }
}
