package io.jumpgate.spark.plan

import io.jumpgate.explain.Code
import java.util.Locale.ROOT
import java.util.function.{Function => JavaFunction, LongConsumer}
import java.util.{Collection => JavaCollection, List => JavaList, Map => JavaMap}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** Calls of classes that only some applications have, by name. */
private object Foreign {
  /** The result of a method without arguments, or with these; `as`: the class or interface that declares it. */
  def call[T](on: AnyRef, as: Class[_], method: String, arguments: (Class[_], AnyRef)*): T =
    try {
      val found = declared(as, method, arguments.map(_._1))
      found.setAccessible(true)
      found.invoke(on, arguments.map(_._2): _*).asInstanceOf[T]
    } catch {
      case NonFatal(e) => NotOffloaded(Code.SOURCE, s"${as.getName} has no $method that is known: $e")
    }

  def call[T](on: AnyRef, method: String): T = call[T](on, on.getClass, method)

  private def declared(as: Class[_], method: String, types: Seq[Class[_]]): java.lang.reflect.Method =
    try as.getMethod(method, types: _*)
    catch {
      case _: NoSuchMethodException =>
        Iterator.iterate[Class[_]](as)(_.getSuperclass).takeWhile(_ != null).flatMap(_.getDeclaredMethods)
          .find(m => m.getName == method && m.getParameterTypes.toSeq == types).getOrElse(throw new NoSuchMethodException(method))
    }
}

/** Tables of Delta Lake: their files of Parquet, and rows of these that deletion vectors have. */
private object DeltaTables {
  private val Format = "org.apache.spark.sql.delta.DeltaParquetFileFormat"
  private val Indexes = Set("org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex", "org.apache.spark.sql.delta.files.TahoeLogFileIndex")
  private val Package = "org.apache.spark.sql.delta"
  private val PhysicalName = "delta.columnMapping.physicalName"

  /** As Delta names columns in files, where they are mapped. */
  private val OwnName = "col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

  /** Of all deletion vectors, which are read before a query is planned. */
  private val RowsMax = 4000000L

  def isOne(relation: HadoopFsRelation): Boolean = relation.fileFormat.getClass.getName == Format

  /** Names in the files, by the table's. Refuses what is more than rows of files. */
  def names(relation: HadoopFsRelation): Map[String, String] = {
    val format = relation.fileFormat
    val mode = Foreign.call[String](Foreign.call[AnyRef](format, "columnMappingMode"), "name")
    mode match {
      case "none" => Map.empty
      case "name" | "id" =>
        Foreign.call[StructType](format, "referenceSchema").map { f =>
          if (Values.isNested(f.dataType)) NotOffloaded(Code.SOURCE, s"parts of ${f.name} have other names in the files of a Delta table")
          val name = if (f.metadata.contains(PhysicalName)) f.metadata.getString(PhysicalName) else f.name
          // files of a converted table may have other names than Delta's own
          if (mode == "id" && !name.matches(OwnName))
            NotOffloaded(Code.SOURCE, s"${f.name} is found by its number in the files of a Delta table")
          f.name -> name
        }.toMap
      case other => NotOffloaded(Code.SOURCE, s"columns of a Delta table are mapped by $other")
    }
  }

  /** Rows that files have lost, by the files. */
  def deleted(relation: HadoopFsRelation, conf: Configuration): Map[Path, String] = {
    val index = relation.location
    if (!Indexes(index.getClass.getName)) NotOffloaded(Code.SOURCE, s"${index.getClass.getName} says which rows a Delta table has")
    if (Foreign.call[Option[AnyRef]](index, "rowIndexFilters").nonEmpty)
      NotOffloaded(Code.SOURCE, "a command of Delta Lake chooses among rows of the table's files")
    val filters = Seq.fill(2)(classOf[Seq[_]] -> Nil)
    val vectors = Foreign.call[Seq[AnyRef]](index, index.getClass, "matchingFiles", filters: _*)
      .map(file => file -> Foreign.call[AnyRef](file, "deletionVector")).filter(_._2 != null)
    if (vectors.isEmpty) Map.empty
    else {
      if (vectors.map(v => Foreign.call[Long](v._2, "cardinality")).sum > RowsMax)
        NotOffloaded(Code.SOURCE, s"a Delta table has deleted more than $RowsMax rows from its files; purge them")
      val loader = index.getClass.getClassLoader
      def companion(name: String) = Class.forName(s"$Package.$name$$", false, loader).getField("MODULE$").get(null)
      val stores = companion("storage.dv.DeletionVectorStore")
      val store = Foreign.call[AnyRef](stores, stores.getClass, "createInstance", classOf[Configuration] -> conf)
      val bitmaps = companion("deletionvectors.StoredBitmap")
      val folder = Foreign.call[Path](index, "path")
      vectors.map { case (file, vector) =>
        val stored =
          Foreign.call[AnyRef](bitmaps, bitmaps.getClass, "create", vector.getClass -> vector, classOf[Path] -> folder)
        val kind = Class.forName(s"$Package.storage.dv.DeletionVectorStore", false, loader)
        val rows = Foreign.call[Array[Long]](Foreign.call[AnyRef](stored, stored.getClass, "load", kind -> store), "toArray")
        val path = Foreign.call[String](file, "path")
        Foreign.call[Path](index, index.getClass, "absolutePath", classOf[String] -> path) -> Deleted.encode(rows)
      }.toMap
    }
  }
}

/**
 * A file of an Iceberg table. `deleted`: rows that it has lost; `equal`: files of values, by the numbers of their columns, whose rows
 * it has lost; `names`: of the columns that it has, by their numbers, where only the file itself says them.
 */
private final case class IcebergFile(
    path: String, format: String, deleted: String, equal: Map[Seq[Int], Seq[String]], names: Option[Map[Int, String]])

/**
 * What a scan of an Iceberg table reads. `ids`: numbers of columns by their names; `names`: all that files may call a column;
 * `columns`: the table's, by their numbers.
 */
private final case class IcebergScan(
    files: Seq[IcebergFile], ids: Map[String, Int], names: Map[Int, Seq[String]], columns: Map[Int, AttributeReference]) {
  /** Names of a column in files that are read together. */
  def stored(files: Seq[IcebergFile])(name: String): Seq[String] = {
    val id = ids(name)
    files.head.names.fold(names(id))(_.get(id).toSeq)
  }
}

/** Tables of Iceberg: their files, and rows of these that were deleted. */
private object IcebergTables {
  private val Query = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val NameMapping = "schema.name-mapping.default"

  /** Whose footers are read before a query is planned. */
  private val FootersMax = 1000

  /** What a scan reads. Refuses what is more than rows of files. */
  def read(scan: Scan, conf: Configuration): IcebergScan = {
    if (scan.getClass.getName != Query) NotOffloaded(Code.SOURCE, s"rows of ${scan.getClass.getName} are Spark's to read")
    val loader = scan.getClass.getClassLoader
    def named(name: String) = Class.forName(s"org.apache.iceberg.$name", false, loader)
    val table = Foreign.call[AnyRef](scan, "table")
    val names = columnNames(table, named)
    val all = names.toSeq.flatMap { case (id, of) => of.map(_.toLowerCase(ROOT) -> id) }
    val isReused = all.distinct.groupBy(_._1).exists(_._2.size > 1)
    val task = named("FileScanTask")
    val content = named("ContentFile")
    val tasks = scan.toBatch.planInputPartitions().toSeq.flatMap { partition =>
      val group = Foreign.call[AnyRef](partition, "taskGroup")
      Foreign.call[JavaCollection[AnyRef]](group, named("ScanTaskGroup"), "tasks").asScala
    }
    val files = tasks.map { t =>
      if (!task.isInstance(t)) NotOffloaded(Code.SOURCE, s"${t.getClass.getName} is more than rows of an Iceberg table's files")
      val file = Foreign.call[AnyRef](t, task, "file")
      Foreign.call[AnyRef](file, content, "path").toString -> (file, Foreign.call[JavaList[AnyRef]](t, task, "deletes").asScala.toSeq)
    }.toMap
    val deletes = new IcebergDeletes(table, named)
    if (isReused && files.size > FootersMax)
      NotOffloaded(Code.SOURCE, "a column of an Iceberg table of many files has the name that another one had before")
    val known = files.toSeq.sortBy(_._1).map { case (path, (file, lost)) =>
      val (byValue, byPlace) = lost.partition(deletes.isByValue)
      val format = deletes.format(file)
      if (isReused && (byValue.nonEmpty || format != "PARQUET"))
        NotOffloaded(Code.SOURCE, "a column of an Iceberg table has the name that another one had before")
      val own = if (isReused) Some(namesIn(path, conf)) else None
      IcebergFile(path, format, deletes.rows(path, byPlace), deletes.values(byValue), own)
    }
    val ids =
      if (isReused) columnsOf(Foreign.call[AnyRef](scan, "expectedSchema")).map { case (id, name) => name -> id }.toMap
      else names.flatMap { case (id, of) => of.map(_ -> id) }
    IcebergScan(known, ids, names, if (known.forall(_.equal.isEmpty)) Map.empty else current(table, named))
  }

  /** Names of a file's columns by their numbers. */
  private def namesIn(path: String, conf: Configuration): Map[Int, String] = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(new Path(path), conf))
    try
      reader.getFooter.getFileMetaData.getSchema.getFields.asScala.map { column =>
        if (column.getId == null) NotOffloaded(Code.SOURCE, "an Iceberg table has files of others")
        column.getId.intValue -> column.getName
      }.toMap
    finally reader.close()
  }

  private def columnsOf(schema: AnyRef): Seq[(Int, String)] =
    Foreign.call[JavaList[AnyRef]](schema, "columns").asScala.toSeq.map(c => Foreign.call[Int](c, "fieldId") -> Foreign.call[String](c, "name"))

  private def current(table: AnyRef, named: String => Class[_]): Map[Int, AttributeReference] = {
    val schema = Foreign.call[AnyRef](table, named("Table"), "schema")
    val types = Foreign.call[StructType](null, named("spark.SparkSchemaUtil"), "convert", named("Schema") -> schema)
    columnsOf(schema).zip(types.fields).map { case ((id, _), field) => id -> AttributeReference(field.name, field.dataType)() }.toMap
  }

  /** Of each column all names that it has had, by its number. */
  private def columnNames(table: AnyRef, named: String => Class[_]): Map[Int, Seq[String]] = {
    val of = named("Table")
    val schemas = Foreign.call[JavaMap[Integer, AnyRef]](table, of, "schemas").values.asScala.toSeq
    val columns = schemas.flatMap(schema => Foreign.call[JavaList[AnyRef]](schema, "columns").asScala)
    if (columns.exists(c => c.getClass.getMethods.exists(_.getName == "initialDefault") && Foreign.call[AnyRef](c, "initialDefault") != null))
      NotOffloaded(Code.SOURCE, "a column of an Iceberg table has an initial default")
    columns.groupBy(Foreign.call[Int](_, "fieldId")).values.foreach { same =>
      val types = same.map(c => Foreign.call[AnyRef](c, "type"))
      if (types.filterNot(Foreign.call[Any](_, "isPrimitiveType").asInstanceOf[Boolean]).distinct.size > 1)
        NotOffloaded(Code.SOURCE, "parts of an Iceberg table's columns may have had other names")
    }
    if (Foreign.call[JavaMap[String, String]](table, of, "properties").containsKey(NameMapping))
      NotOffloaded(Code.SOURCE, "an Iceberg table has files of others")
    schemas.flatMap(columnsOf).distinct.groupBy(_._1).map { case (id, names) => id -> names.map(_._2) }
  }
}

/** Deletes of an Iceberg table. */
private final class IcebergDeletes(table: AnyRef, named: String => Class[_]) {
  private val content = named("ContentFile")

  def isByValue(file: AnyRef): Boolean = Foreign.call[AnyRef](file, content, "content").toString == "EQUALITY_DELETES"

  def format(file: AnyRef): String = {
    if (Foreign.call[AnyRef](file, content, "keyMetadata") != null) NotOffloaded(Code.SOURCE, "files of an Iceberg table are encrypted")
    Foreign.call[AnyRef](file, content, "format").toString
  }

  /** Rows that a file has lost by their positions. */
  def rows(path: String, files: Seq[AnyRef]): String =
    if (files.isEmpty) ""
    else {
      files.foreach(format)
      val opened: JavaFunction[AnyRef, AnyRef] = file => {
        val io = Foreign.call[AnyRef](table, named("Table"), "io")
        val place = Foreign.call[AnyRef](file, content, "path").toString
        Foreign.call[AnyRef](io, named("io.FileIO"), "newInputFile", classOf[String] -> place)
      }
      val loader =
        try named("data.BaseDeleteLoader").getConstructor(classOf[JavaFunction[_, _]]).newInstance(opened).asInstanceOf[AnyRef]
        catch { case e: ReflectiveOperationException => NotOffloaded(Code.SOURCE, s"this version of Iceberg reads no deletes by itself: $e") }
      val index = Foreign.call[AnyRef](
        loader, named("data.DeleteLoader"), "loadPositionDeletes", classOf[java.lang.Iterable[_]] -> files.asJava,
        classOf[CharSequence] -> path)
      val found = Array.newBuilder[Long]
      val take: LongConsumer = row => found += row
      Foreign.call[AnyRef](index, named("deletes.PositionDeleteIndex"), "forEach", classOf[LongConsumer] -> take)
      Deleted.encode(found.result())
    }

  /** Files of values whose rows are deleted, by the numbers of the columns that are compared. */
  def values(files: Seq[AnyRef]): Map[Seq[Int], Seq[String]] =
    files.map { file =>
      if (format(file) != "PARQUET") NotOffloaded(Code.FORMAT, "deletes of an Iceberg table are in other files than Parquet's")
      val columns = Foreign.call[JavaList[Integer]](file, content, "equalityFieldIds").asScala.map(_.intValue).toSeq.sorted
      columns -> Foreign.call[AnyRef](file, content, "path").toString
    }.groupBy(_._1).map { case (columns, found) => columns -> found.map(_._2).distinct.sorted }
}
