package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Field, Operator, ScalarFunction}
import io.jumpgate.explain.Code
import io.jumpgate.spark.Settings
import java.net.{URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.LocalDate
import java.util.{Optional, TimeZone}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.{DEFAULT_PARTITION_NAME, unescapePathName}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, Literal}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.{ArrayType, BinaryType, DataType, MapType, StructType, TimestampNTZType, TimestampType}
import scala.jdk.CollectionConverters._

/** Tables of files as reads of these files. */
private final class ScanTranslator(session: SparkSession) {
  /** Schemes of object stores, and Jumpgate's own of the same objects. */
  private val stores =
    Map("s3" -> "s3", "s3a" -> "s3", "s3n" -> "s3", "gs" -> "gs", "abfs" -> "abfss", "abfss" -> "abfss")

  def apply(relation: LogicalRelation): Operator = relation.relation match {
    case files: HadoopFsRelation if files.getClass == classOf[HadoopFsRelation] || DeltaTables.isOne(files) =>
      read(files, relation.output)
    case other => NotOffloaded(Code.SOURCE, s"${other.getClass.getSimpleName} is not a table of files")
  }

  /** A table of Iceberg. */
  def apply(relation: DataSourceV2ScanRelation): Operator = {
    val paths = IcebergTables.files(relation.scan, relation.output).map(file => nameOf(new Path(file)))
    FileRules.checkSession(session)
    if (paths.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    columns(relation.output, "parquet", paths, Map("early_days" -> "fail"), Nil, identity)
  }

  private def read(relation: HadoopFsRelation, output: Seq[AttributeReference]): Operator = {
    val (format, options) = formatOf(relation)
    FileRules.checkSession(session)
    val stored = if (DeltaTables.isOne(relation)) DeltaTables.names(relation) else Map.empty[String, String]
    if (!DeltaTables.isOne(relation)) FileRules.checkIndex(relation.location)
    FileRules.checkNumbers(relation.dataSchema)
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
    columns(output, format, paths, options, partitions, name => stored.getOrElse(name, name))
  }

  /** `stored`: names in the files. */
  private def columns(
      output: Seq[AttributeReference], format: String, paths: Seq[String], options: Map[String, String], partitions: Seq[String],
      stored: String => String): Operator = {
    val other = output.filterNot(a => isRead(a, format, partitions.contains(a.name)))
    if (other.size == output.size) NotOffloaded(Code.TYPE, "no column has a type with an exact counterpart")
    // columns of CSV files are counted
    val read = if (format == "csv") output else output.filterNot(other.contains)
    val moments = new Moments(format, session.sessionState.conf.sessionLocalTimeZone)
    val fields = read.map(a => new Field(stored(a.name), if (other.contains(a)) JumpgateType.STRING else moments.stored(a.dataType)))
    val folders = if (partitions.isEmpty) Map.empty else Map("partitions" -> partitions.map(encoded).mkString(","))
    val scan = Operator.read(
      paths.asJava,
      format,
      fields.asJava,
      fields.indices.map(Int.box).asJava,
      (options ++ folders).asJava,
      Optional.empty())
    if (other.isEmpty && !read.exists(a => moments.areOther(a.dataType) || stored(a.name) != a.name)) scan
    else
      // a column that is not read keeps its place; whatever names it is refused
      Scope.project(
        scan,
        output.map(a => a.name -> (if (other.contains(a)) Values.Unread else moments.value(scan.column(read.indexOf(a)), a.dataType))))
  }

  private def isRead(a: AttributeReference, format: String, inFolders: Boolean): Boolean =
    FileRules.unread(a).isEmpty && (a.dataType match {
      case TimestampType => !inFolders && (format != "orc" || Moments.isOrcPlain(session))
      case other => isRead(other, format, inFolders)
    })

  /** Also of parts of columns. */
  private def isRead(dataType: DataType, format: String, inFolders: Boolean): Boolean = {
    def areRead(parts: DataType*) = format != "csv" && !inFolders && parts.forall(isRead(_, format, inFolders))
    dataType match {
      case TimestampType => format == "parquet"
      case TimestampNTZType => format != "orc" // which has integers in their place
      case BinaryType => format == "parquet" || format == "orc"
      case s: StructType => areRead(s.map(_.dataType): _*) && Values.hasType(s)
      case ArrayType(element, _) => areRead(element)
      case MapType(key, value, _) => areRead(key, value)
      case other => Values.hasType(other)
    }
  }

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
    (if (DeltaTables.isOne(relation)) "parquet" else FileRules.format(relation.fileFormat)) match {
      case "json" => ("json", text.json)
      case "csv" => ("csv", text.csv)
      case columnar =>
        FileRules.checkColumnar(options)
        (columnar, Map("early_days" -> "fail"))
    }
  }
}

/** Columns of moments, which are texts in JSON and CSV, by clocks of the zone, and times of a clock in ORC. */
private final class Moments(format: String, zone: String) {
  /** Whether files have something else in their place. */
  def areOther(dataType: DataType): Boolean = dataType == TimestampType && format != "parquet"

  def stored(dataType: DataType): JumpgateType =
    if (!areOther(dataType)) Values.typeOf(dataType)
    else if (format == "orc") JumpgateType.TIMESTAMP
    else JumpgateType.STRING

  def value(stored: Value, dataType: DataType): Value =
    if (!areOther(dataType)) stored
    else if (format == "orc") Values.cast(late(stored), Zones.Moment)
    else TextCasts.moment(stored, zone)

  /** Earlier times may be of the Julian calendar: they fail in Jumpgate. */
  private def late(time: Value): Value = {
    val isEarly = ScalarFunction.LT.of(time, Request.moment(Moments.Gregorian, JumpgateType.TIMESTAMP))
    Values.caseWhen(Seq((isEarly, TextCasts.failing(Values.cast(time, JumpgateType.STRING), JumpgateType.TIMESTAMP))), time)
  }
}

private object Moments {
  private val Gregorian = LocalDate.of(1582, 10, 15).toEpochDay * 86400000000L
  private val JavaOptions = Seq("driver", "executor").flatMap(of => Seq(s"spark.$of.extraJavaOptions", s"spark.$of.defaultJavaOptions"))
  private val Zone = "-Duser\\.timezone=(\\S+)".r

  /** Whether Spark takes the clock of ORC's times for that of UTC: it is its processes' own. */
  def isOrcPlain(session: SparkSession): Boolean = {
    val said = JavaOptions.flatMap(name => Zone.findAllMatchIn(session.sparkContext.getConf.get(name, "")).map(_.group(1)))
    (TimeZone.getDefault.getID +: said).forall(Zones.isUtc)
  }
}
