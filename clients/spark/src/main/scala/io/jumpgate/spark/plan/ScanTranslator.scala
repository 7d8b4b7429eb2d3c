package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Field, Operator}
import io.jumpgate.explain.Code
import io.jumpgate.spark.Settings
import java.net.{URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Optional
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.{DEFAULT_PARTITION_NAME, unescapePathName}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, Literal}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.{BinaryType, DataType, StructType, TimestampType}
import scala.jdk.CollectionConverters._

/** Tables of files as reads of these files. */
private final class ScanTranslator(session: SparkSession) {
  /** Schemes of object stores, and Jumpgate's own of the same objects. */
  private val stores =
    Map("s3" -> "s3", "s3a" -> "s3", "s3n" -> "s3", "gs" -> "gs", "abfs" -> "abfss", "abfss" -> "abfss")

  def apply(relation: LogicalRelation): Operator = relation.relation match {
    case files: HadoopFsRelation if files.getClass == classOf[HadoopFsRelation] => read(files, relation.output)
    case other => NotOffloaded(Code.SOURCE, s"${other.getClass.getSimpleName} is not a table of files")
  }

  private def read(relation: HadoopFsRelation, output: Seq[AttributeReference]): Operator = {
    val (format, options) = formatOf(relation)
    FileRules.checkSession(session)
    FileRules.checkIndex(relation.location)
    val partitions = relation.partitionSchema.fieldNames.toSeq
    val directories = relation.location.listFiles(Nil, Nil)
    val files = directories.flatMap(_.files.map(_.getPath))
    if (files.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    val paths = files.map(nameOf)
    if (partitions.nonEmpty)
      directories.foreach(d => d.files.map(f => nameOf(f.getPath)).foreach(requireFolders(_, relation.partitionSchema, d.values)))
    val names = relation.dataSchema.fieldNames.toSeq ++ partitions
    output.find(a => !names.contains(a.name)).foreach(a => NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    if (format == "csv" && output.map(_.name) != names) NotOffloaded(Code.COLUMN, "the columns are not in the order of the files")
    val other = output.filterNot(a => isRead(a, format, partitions.contains(a.name)))
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
      // a column that is not read keeps its place; whatever names it is refused
      Scope.project(scan, output.map(a => a.name -> (if (other.contains(a)) Values.Unread else scan.column(read.indexOf(a)))))
  }

  private def isRead(a: AttributeReference, format: String, inFolders: Boolean): Boolean = FileRules.unread(a).isEmpty && (a.dataType match {
    // moments are texts in JSON, CSV and folders, and in ORC those of a clock, which Spark's session time zone tells
    case TimestampType => format == "parquet" && !inFolders
    case BinaryType => format == "parquet" || format == "orc"
    case _ => Values.hasType(a.dataType)
  })

  private def nameOf(path: Path): String = {
    val uri = path.toUri
    val readsStores = Settings.Stores(session.sessionState.conf)
    uri.getScheme match {
      case null | "file" => uri.getPath
      case scheme if stores.contains(scheme) && readsStores => s"${stores(scheme)}://${uri.getAuthority}${uri.getPath}"
      case scheme if stores.contains(scheme) => NotOffloaded(Code.SOURCE, s"files of $scheme are read where ${Settings.Stores.name} is true")
      case scheme => NotOffloaded(Code.SOURCE, s"files of $scheme are not read")
    }
  }

  /** Folders say the columns of partitions, with the values that the catalog has. */
  private def requireFolders(path: String, partitions: StructType, values: InternalRow): Unit = {
    val folders = path.split('/').init.filter(_.contains('=')).map(_.span(_ != '='))
    if (folders.map(f => URLDecoder.decode(f._1, UTF_8)).toSeq != partitions.fieldNames.toSeq)
      NotOffloaded(
        Code.SOURCE, s"the folders of '$path' do not name the partition columns ${partitions.fieldNames.mkString(", ")}")
    partitions.fields.zipWithIndex.foreach { case (field, i) =>
      val text = unescapePathName(folders(i)._2.drop(1))
      val said = if (text == DEFAULT_PARTITION_NAME) null else partitionValue(text, field.dataType)
      if (said != values.get(i, field.dataType))
        NotOffloaded(Code.SOURCE, s"the catalog has another value of ${field.name} than the folders of '$path'")
    }
  }

  private def partitionValue(text: String, dataType: DataType): Any =
    Cast(Literal(text), dataType, Some(session.sessionState.conf.sessionLocalTimeZone)).eval()

  private def encoded(name: String): String = URLEncoder.encode(name, UTF_8).replace("+", " ")

  private def formatOf(relation: HadoopFsRelation): (String, Map[String, String]) = {
    val options = CaseInsensitiveMap(relation.options)
    def text = new TextOptions(options, relation.dataSchema, session.sessionState.conf)
    FileRules.format(relation.fileFormat) match {
      case "json" => ("json", text.json)
      case "csv" => ("csv", text.csv)
      case columnar =>
        FileRules.checkColumnar(options)
        (columnar, Map("early_days" -> "fail"))
    }
  }
}
