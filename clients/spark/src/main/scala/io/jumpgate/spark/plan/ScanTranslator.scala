package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Operator.JoinType
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
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.v2.csv.CSVScan
import org.apache.spark.sql.execution.datasources.v2.json.JsonScan
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScan
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import org.apache.spark.sql.types.{ArrayType, BinaryType, DataType, DoubleType, FloatType, MapType, StructType, TimestampNTZType, TimestampType}
import scala.jdk.CollectionConverters._

/** Tables of files as reads of these files. */
private final class ScanTranslator(session: SparkSession) {
  /** Schemes of object stores and HDFS, and Jumpgate's own of the same objects. */
  private val stores = Map(
    "s3" -> "s3", "s3a" -> "s3", "s3n" -> "s3", "gs" -> "gs", "abfs" -> "abfss", "abfss" -> "abfss", "hdfs" -> "hdfs")

  private lazy val rights = new Rights(session)

  def apply(relation: LogicalRelation): Operator = relation.relation match {
    case files: HadoopFsRelation if files.getClass == classOf[HadoopFsRelation] || DeltaTables.isOne(files) =>
      read(files, relation.output)
    case other => NotOffloaded(Code.SOURCE, s"${other.getClass.getSimpleName} is not a table of files")
  }

  /** A table of files that Spark reads by its newer interface, or of Iceberg. */
  def apply(relation: DataSourceV2ScanRelation): Operator = relation.scan match {
    case scan: FileScan =>
      val (format, options, dataSchema) = FileScans(scan)
      read(
        relation.output, optionsOf(format, CaseInsensitiveMap(options), dataSchema), dataSchema, scan.fileIndex.partitionSchema,
        scan.fileIndex, scan.partitionFilters)
    case _ => iceberg(relation)
  }

  private def iceberg(relation: DataSourceV2ScanRelation): Operator = {
    FileRules.checkSession(session)
    val scan = IcebergTables.read(relation.scan, session.sessionState.newHadoopConf())
    if (scan.files.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    relation.output.find(a => !scan.ids.get(a.name).exists(scan.names.contains)).foreach(a =>
      NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    val ids = relation.output.map(a => scan.ids(a.name)).toSet
    val alike = scan.files.groupBy(file => (file.format, file.equal, file.columns.map(_.filter(c => ids(c._1))))).values.toSeq.sortBy(_.head.path)
    if (alike.size > ScanTranslator.PartsMax)
      NotOffloaded(Code.SOURCE, s"files of an Iceberg table differ in ${alike.size} ways in names and deletes; rewrite them")
    val parts = alike.map(part(relation.output, scan, _))
    if (parts.size == 1) parts.head else Operator.unionAll(parts.asJava)
  }

  /** Files of an Iceberg table that differ in places of deleted rows only. */
  private def part(output: Seq[AttributeReference], scan: IcebergScan, files: Seq[IcebergFile]): Operator = {
    val of = files.head.format match {
      case "PARQUET" => "parquet"
      case "ORC" =>
        output.find(a => a.dataType == TimestampType || a.dataType == TimestampNTZType).foreach(a =>
          NotOffloaded(Code.TYPE, s"times of ${a.name} in an Iceberg table's files of ORC are Spark's to read"))
        "orc"
      case other => NotOffloaded(Code.FORMAT, s"an Iceberg table's files of $other are Spark's to read")
    }
    def columnOf(id: Int) = {
      val found = scan.columns.getOrElse(id, NotOffloaded(Code.SOURCE, "rows of an Iceberg table were deleted by a column that it has no longer"))
      found.dataType match {
        case FloatType | DoubleType | _: StructType | _: ArrayType | _: MapType =>
          NotOffloaded(Code.SOURCE, s"rows of an Iceberg table were deleted by ${found.name}, which is ${found.dataType.simpleString}")
        case _ => output.find(_.name == found.name).getOrElse(found)
      }
    }
    val compared = files.head.equal.toSeq.sortBy(_._1.mkString(",")).map { case (ids, paths) => (ids.map(columnOf), paths) }
    val read = output ++ compared.flatMap(_._1).distinct.filterNot(output.contains)
    def rows(of: Seq[AttributeReference], format: String, paths: Seq[String], options: Map[String, String]) =
      columns(
        of, format, paths.map(file => nameOf(new Path(file))), ScanTranslator.Columnar ++ options, Nil,
        new InFiles(scan.stored(files), scan.typeIn(files), scan.before))
    val all = rows(read, of, files.map(_.path), Deleted.option(files.map(_.deleted)))
    if (compared.isEmpty) all
    else {
      val left = compared.foldLeft(all) { case (rest, (by, paths)) =>
        val lost = rows(by, "parquet", paths, Map.empty)
        val keys = by.indices.map(i => Values.sameOrBothNull(rest.column(read.indexOf(by(i))), lost.column(i), by(i).dataType))
        rest.join(lost, JoinType.ANTI, keys.flatMap(_.map(_._1)).asJava, keys.flatMap(_.map(_._2)).asJava, Optional.empty())
      }
      Scope.project(left, output.indices.map(i => output(i).name -> left.column(i)))
    }
  }

  private def read(relation: HadoopFsRelation, output: Seq[AttributeReference]): Operator = {
    val (format, options) = optionsOf(
      if (DeltaTables.isOne(relation)) "parquet" else FileRules.format(relation.fileFormat), CaseInsensitiveMap(relation.options),
      relation.dataSchema)
    if (!DeltaTables.isOne(relation)) read(output, (format, options), relation.dataSchema, relation.partitionSchema, relation.location, Nil)
    else {
      val names = DeltaTables.names(relation)
      val stored = new InFiles(name => Seq(names(name)), names.typeOf, _ => None)
      val deleted = DeltaTables.deleted(relation, session.sessionState.newHadoopConf())
      read(output, (format, options), relation.dataSchema, relation.partitionSchema, relation.location, Nil, stored, deleted, isDelta = true)
    }
  }

  /** Of the files below folders that `filters` do not rule out. `deleted`: rows that files have lost. */
  private def read(
      output: Seq[AttributeReference], of: (String, Map[String, String]), dataSchema: StructType, partitionSchema: StructType, index: FileIndex,
      filters: Seq[Expression], stored: InFiles = InFiles.Same, deleted: Map[Path, String] = Map.empty,
      isDelta: Boolean = false): Operator = {
    val (format, options) = of
    FileRules.checkSession(session)
    if (!isDelta) FileRules.checkIndex(index)
    FileRules.checkNumbers(dataSchema)
    val partitions = partitionSchema.fieldNames.toSeq
    val directories = index.listFiles(filters, Nil)
    val files = directories.flatMap(_.files.map(_.getPath))
    if (files.isEmpty) NotOffloaded(Code.SOURCE, "the table has no files")
    if (deleted.keys.exists(!files.contains(_))) NotOffloaded(Code.SOURCE, "a deletion vector is of a file that the table does not have")
    val paths = files.map(nameOf)
    if (partitions.nonEmpty)
      directories.foreach(d => d.files.map(f => nameOf(f.getPath)).foreach(requireFolders(_, partitionSchema, d.values)))
    val names = dataSchema.fieldNames.toSeq ++ partitions
    output.find(a => !names.contains(a.name)).foreach(a => NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    if (format == "csv" && output.map(_.name) != names) NotOffloaded(Code.COLUMN, "the columns are not in the order of the files")
    def part(which: Seq[Int], stored: InFiles) = {
      val lost = Deleted.option(which.map(i => deleted.getOrElse(files(i), "")))
      columns(output, format, which.map(paths), options ++ lost, partitions, stored)
    }
    val added = output.filter(a => FileRules.hasDefault(a) && isColumnar(format) && !partitions.contains(a.name))
    if (added.isEmpty) part(files.indices, stored)
    else {
      val parts = lacking(files, format, added.map(_.name)).map { case (absent, which) =>
        def names(name: String) = if (absent(name)) Nil else stored.names(name)
        part(which, new InFiles(names, stored.typeOf, a => if (absent(a.name)) Some(FileRules.valueBefore(a)) else None))
      }
      if (parts.size == 1) parts.head else Operator.unionAll(parts.asJava)
    }
  }

  private def isColumnar(format: String): Boolean = format == "parquet" || format == "orc"

  /** Files by those of the columns that they lack. */
  private def lacking(files: Seq[Path], format: String, columns: Seq[String]): Seq[(Set[String], Seq[Int])] = {
    if (files.size > Footers.FilesMax)
      NotOffloaded(Code.COLUMN, s"${columns.head} was added with a default, and Spark looks which of many files lack it")
    val conf = session.sessionState.newHadoopConf()
    val absent = files.map { file =>
      val names = Footers.names(file, format, conf)
      val found = columns.filterNot(names.contains).toSet
      if (names.exists(name => name.startsWith("_col") || found.exists(_.equalsIgnoreCase(name))))
        NotOffloaded(Code.COLUMN, s"'$file' has other names of ${columns.mkString(", ")}")
      found
    }
    files.indices.groupBy(absent).toSeq.sortBy(_._2.head)
  }

  private def columns(
      output: Seq[AttributeReference], format: String, paths: Seq[String], options: Map[String, String], partitions: Seq[String],
      stored: InFiles): Operator = {
    val other = output.filterNot(a => isRead(a, format, partitions.contains(a.name)))
    if (other.size == output.size) NotOffloaded(Code.TYPE, "no column has a type with an exact counterpart")
    // columns of CSV files are counted
    val read = (if (format == "csv") output else output.filterNot(other.contains)).flatMap(a => stored.names(a.name).map(a -> _))
    if (read.isEmpty) NotOffloaded(Code.COLUMN, "the files have none of the columns")
    val moments = new Moments(format, session.sessionState.conf.sessionLocalTimeZone)
    val types = read.map { case (a, _) =>
      if (other.contains(a)) JumpgateType.STRING else stored.typeOf(a).getOrElse(moments.stored(a.dataType))
    }
    val fields = read.zip(types).map { case ((_, name), of) => new Field(name, of) }
    val inFolders = partitions.filter(name => output.exists(_.name == name))
    val folders = if (inFolders.isEmpty) Map.empty else Map("partitions" -> inFolders.map(encoded).mkString(","))
    val scan = Operator.read(
      paths.asJava,
      format,
      fields.asJava,
      fields.indices.map(Int.box).asJava,
      (options ++ folders).asJava,
      Optional.empty())
    def value(a: AttributeReference): Value = {
      val found = read.indices.filter(read(_)._1 == a).map(scan.column(_))
      if (found.isEmpty) stored.before(a).getOrElse(Request.nullOf(Values.typeOf(a.dataType)))
      else if (Values.isNested(a.dataType)) {
        if (found.size > 1) NotOffloaded(Code.SOURCE, s"${a.name} has other names in some files")
        Values.cast(found.head, Values.typeOf(a.dataType)) // its parts may have other names
      } else moments.value(if (found.size == 1) found.head else ScalarFunction.COALESCE.of(found: _*), a.dataType)
    }
    def isPlain(a: AttributeReference, name: String) = !moments.areOther(a.dataType) && name == a.name && stored.typeOf(a).isEmpty
    if (read.map(_._1) == output && other.isEmpty && read.forall { case (a, name) => isPlain(a, name) }) scan
    else
      // a column that is not read keeps its place; whatever names it is refused
      Scope.project(scan, output.map(a => a.name -> (if (other.contains(a)) Values.Unread else value(a))))
  }

  private def isRead(a: AttributeReference, format: String, inFolders: Boolean): Boolean =
    (isColumnar(format) || FileRules.unread(a).isEmpty) && (a.dataType match {
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
      case scheme if stores.contains(scheme) && readsStores =>
        val name = s"${stores(scheme)}://${uri.getAuthority}${uri.getPath}"
        rights.against(name).foreach(NotOffloaded(Code.SOURCE, _))
        name
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

  /** A format and its options in Jumpgate's words. */
  private def optionsOf(format: String, options: CaseInsensitiveMap[String], schema: StructType): (String, Map[String, String]) = {
    def text = new TextOptions(options, schema, session.sessionState.conf)
    format match {
      case "json" => ("json", text.json)
      case "csv" => ("csv", text.csv)
      case columnar =>
        FileRules.checkColumnar(options)
        (columnar, ScanTranslator.Columnar)
    }
  }
}

/**
 * Columns as files have them that are read together. `names`: of which each file has one at most; `typeOf`: of a column whose parts have
 * other names there; `before`: the value of a column that the files lack, where it is not NULL.
 */
private final class InFiles(
    val names: String => Seq[String], val typeOf: AttributeReference => Option[JumpgateType], val before: AttributeReference => Option[Value])

private object InFiles {
  /** By the names and types of the table. */
  val Same = new InFiles(Seq(_), _ => None, _ => None)
}

/** Formats that Spark reads by its newer interface, with their options and the columns of their files. */
private object FileScans {
  def apply(scan: FileScan): (String, Map[String, String], StructType) = scan match {
    case p: ParquetScan if p.getClass == classOf[ParquetScan] && p.pushedAggregate.isEmpty => ("parquet", p.options.asScala.toMap, p.dataSchema)
    case o: OrcScan if o.getClass == classOf[OrcScan] && o.pushedAggregate.isEmpty => ("orc", o.options.asScala.toMap, o.dataSchema)
    case j: JsonScan if j.getClass == classOf[JsonScan] => ("json", j.options.asScala.toMap, j.dataSchema)
    case c: CSVScan if c.getClass == classOf[CSVScan] => ("csv", c.options.asScala.toMap, c.dataSchema)
    case other => NotOffloaded(Code.FORMAT, s"rows of ${other.getClass.getName} are Spark's to read")
  }
}

private object ScanTranslator {
  /** Options of all columnar files: a column that none of them has is NULL. */
  private val Columnar = Map("early_days" -> "fail", "absent" -> "null")

  /** Of files that are read apart. */
  private val PartsMax = 100
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
