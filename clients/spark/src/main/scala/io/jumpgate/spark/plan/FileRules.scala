package io.jumpgate.spark.plan

import io.jumpgate.explain.Code
import java.util.Locale.ROOT
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, ResolveDefaultColumns}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.{StructField, StructType}
import scala.util.Try

/**
 * What decides which rows Spark reads from a table of files. All that is not known to leave them as they are is refused: a format that
 * extends one of these, as Delta's does, has rows that are not those of its files.
 */
private object FileRules {
  private val Formats: Map[Class[_], String] = Map(
    classOf[ParquetFileFormat] -> "parquet",
    classOf[OrcFileFormat] -> "orc",
    classOf[JsonFileFormat] -> "json",
    classOf[CSVFileFormat] -> "csv")

  private val Indexes: Set[String] = Set("InMemoryFileIndex", "PrunedInMemoryFileIndex", "CatalogFileIndex")

  /** How files are listed, which Spark has done, how they are written, and how fast they are read. */
  val OfListing: Set[String] = Set(
    "path", "paths", "basepath", "serialization.format", "inferschema", "mergeschema", "compression", "recursivefilelookup",
    "pathglobfilter", "modifiedbefore", "modifiedafter", "ignoremissingfiles", "partitionoverwritemode")

  /** Settings of sessions that change how rows are found or written, not which there are; as prefixes. */
  private val Harmless: Seq[String] = Seq(
    "parquet.aggregatePushdown", "parquet.columnarReaderBatchSize", "parquet.compression.codec", "parquet.enable",
    "parquet.filterPushdown", "parquet.inferTimestampNTZ", "parquet.mergeSchema", "parquet.output", "parquet.pushdown",
    "parquet.recordLevelFilter", "parquet.respectSummaryFiles", "parquet.writeLegacyFormat", "parquet.datetimeRebaseModeInWrite",
    "parquet.int96RebaseModeInWrite", "parquet.fieldId.read.enabled", "parquet.fieldId.write", "orc.aggregatePushdown", "orc.columnar", "orc.compression.codec",
    "orc.enable", "orc.filterPushdown", "orc.mergeSchema", "files.max", "files.minPartitionNum", "files.openCostInBytes",
    "files.ignoreMissingFiles", "csv.filterPushdown", "csv.parser.columnPruning", "json.filterPushdown", "sources.bucketing",
    "sources.commitProtocolClass", "sources.default", "sources.outputCommitterClass", "sources.parallelPartitionDiscovery",
    "sources.partition", "sources.useV1SourceList", "sources.v2.bucketing", "legacy.allowCreatingManagedTableUsingNonemptyLocation",
    "legacy.createHiveTableByDefault")

  private val Kinds: Seq[String] = Seq("parquet.", "orc.", "files.", "csv.", "json.", "sources.", "legacy.")

  private val Sql = "spark.sql."

  /** As Jumpgate calls it. */
  def format(of: FileFormat): String =
    Formats.getOrElse(of.getClass, NotOffloaded(Code.FORMAT, s"rows of ${of.getClass.getName} are Spark's to read"))

  def checkIndex(location: FileIndex): Unit =
    if (!Indexes(location.getClass.getSimpleName) || location.getClass.getPackage != classOf[FileIndex].getPackage)
      NotOffloaded(Code.SOURCE, s"${location.getClass.getName} says which rows the files have")

  def checkColumnar(options: CaseInsensitiveMap[String]): Unit = {
    val unknown = options.keySet.map(_.toLowerCase(ROOT)) -- OfListing
    if (unknown.nonEmpty) NotOffloaded(Code.OPTION, s"the table's options ${unknown.toSeq.sorted.mkString(", ")} are Spark's own")
  }

  def checkSession(session: SparkSession): Unit = {
    val conf = session.sessionState.conf
    conf.getAllConfs.foreach { case (name, value) =>
      if (name.startsWith(Sql) && changesRows(name.drop(Sql.length)) && !default(name).exists(_.equalsIgnoreCase(value)))
        NotOffloaded(Code.OPTION, s"$name is $value, by which Spark may have other rows")
    }
    if (session.sessionState.newHadoopConf().getBoolean(Positional, false))
      NotOffloaded(Code.OPTION, s"$Positional is true, by which columns of ORC files are counted")
  }

  /** Fields that are found by their numbers, where the session says so. */
  def checkNumbers(schema: StructType): Unit =
    schema.find(_.metadata.contains(Number)).foreach(f => NotOffloaded(Code.COLUMN, s"${f.name} is found in the files by its number"))

  private val Number = "parquet.field.id"
  private val Positional = "orc.force.positional.evolution"

  private def changesRows(name: String): Boolean = Kinds.exists(name.startsWith(_)) && !Harmless.exists(name.startsWith(_))

  private def default(name: String): Option[String] = Try(new SQLConf().getConfString(name)).toOption

  private val Added = "EXISTS_DEFAULT"

  /** Whether rows from before a column was added have a value in it, which is not in the files. */
  def hasDefault(column: Attribute): Boolean = column.metadata.contains(Added)

  /** The value of such a column in rows from before. */
  def valueBefore(column: Attribute): Value = {
    val schema = StructType(Seq(StructField(column.name, column.dataType, column.nullable, column.metadata)))
    Values.literal(ResolveDefaultColumns.existenceDefaultValues(schema).head, column.dataType)
  }

  /** Why a column has other values than the files'. */
  def unread(column: Attribute): Option[String] =
    if (hasDefault(column)) Some(s"${column.name} was added with a default, which rows of text from before lack") else None
}
