package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Field}
import io.jumpgate.explain.Code
import io.jumpgate.spark.plan.Footers.Stored
import java.util.Locale.ROOT
import java.util.function.{Function => JavaFunction, LongConsumer}
import java.util.{Collection => JavaCollection, List => JavaList, Map => JavaMap}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.CollectionConverters._
import scala.util.Try
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

  /** The result of the first of these methods that there is: versions have other names of one. */
  def first[T](on: AnyRef, methods: String*): T =
    call[T](on, methods.find(method => Try(declared(on.getClass, method, Nil)).isSuccess).getOrElse(methods.head))

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

  /** Names in the files. Refuses what is more than rows of files. */
  def names(relation: HadoopFsRelation): DeltaNames = {
    val format = relation.fileFormat
    Foreign.call[String](Foreign.call[AnyRef](format, "columnMappingMode"), "name") match {
      case "none" => new DeltaNames(None, isById = false)
      case mode @ ("name" | "id") => new DeltaNames(Some(Foreign.call[StructType](format, "referenceSchema")), mode == "id")
      case other => NotOffloaded(Code.SOURCE, s"columns of a Delta table are mapped by $other")
    }
  }

  /** Name of a column, or of a part of one, in the files. */
  def nameIn(field: StructField, isById: Boolean): String = {
    val name = if (field.metadata.contains(PhysicalName)) field.metadata.getString(PhysicalName) else field.name
    // files of a converted table may have other names than Delta's own
    if (isById && !name.matches(OwnName))
      NotOffloaded(Code.SOURCE, s"${field.name} is found by its number in the files of a Delta table")
    name
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

/** Names of columns in the files of a Delta table; `mapped`: its columns, where they have others there. */
private final class DeltaNames(mapped: Option[StructType], isById: Boolean) {
  def apply(name: String): String = mapped.flatMap(_.find(_.name == name)).fold(name)(DeltaTables.nameIn(_, isById))

  /** The type of a column that has parts, with their names. */
  def typeOf(column: AttributeReference): Option[JumpgateType] =
    mapped.filter(_ => Values.isNested(column.dataType)).flatMap(_.find(_.name == column.name)).map(f => typeIn(f.dataType, column.dataType))

  /** `read`: of the parts that are read. */
  private def typeIn(declared: DataType, read: DataType): JumpgateType = (declared, read) match {
    case (all: StructType, StructType(fields)) =>
      JumpgateType.struct(fields.map { field =>
        val of = all(field.name)
        new Field(DeltaTables.nameIn(of, isById), typeIn(of.dataType, field.dataType))
      }.toSeq.asJava)
    case (ArrayType(a, _), ArrayType(b, _)) => JumpgateType.list(typeIn(a, b))
    case (MapType(a, b, _), MapType(c, d, _)) => JumpgateType.map(typeIn(a, c), typeIn(b, d))
    case (_, other) => Values.typeOf(other)
  }
}

/**
 * A file of an Iceberg table. `deleted`: rows that it has lost; `equal`: files of values, by the numbers of their columns, whose rows
 * it has lost; `columns`: that it has, by their numbers, where only the file itself says which.
 */
private final case class IcebergFile(
    path: String, format: String, deleted: String, equal: Map[Seq[Int], Seq[String]], columns: Option[Map[Int, Stored]])

/** A column of an Iceberg table, or a part of one; `before`: its value in rows from before it was added. */
private final case class IcebergColumn(id: Int, name: String, before: Option[Any], parts: Seq[IcebergColumn]) {
  /** A type with the names that a file has for the parts, by their numbers. */
  def typeIn(file: Stored, dataType: DataType): JumpgateType = {
    def inside(part: IcebergColumn, of: DataType) =
      part.typeIn(file.parts.getOrElse(part.id, NotOffloaded(Code.SOURCE, s"parts of $name have other numbers in some files")), of)
    dataType match {
      case StructType(fields) =>
        val of = fields.map(f => parts.find(_.name == f.name).getOrElse(NotOffloaded(Code.SOURCE, s"an Iceberg table has no part ${f.name}")))
        if (!of.exists(part => file.parts.contains(part.id))) NotOffloaded(Code.SOURCE, s"some files have none of the parts of $name")
        val taken = file.parts.values.map(_.name).toSet
        JumpgateType.struct(fields.zip(of).map { case (field, part) =>
          file.parts.get(part.id) match {
            case Some(found) => new Field(found.name, part.typeIn(found, field.dataType))
            case None =>
              if (part.before.nonEmpty) NotOffloaded(Code.SOURCE, s"the part ${field.name} of an Iceberg table's column has an initial default")
              val free = Iterator.iterate(field.name)(_ + "_").dropWhile(taken).next()
              new Field(free, Values.typeOf(field.dataType))
          }
        }.toSeq.asJava)
      case ArrayType(element, _) => JumpgateType.list(inside(parts.head, element))
      case MapType(key, value, _) => JumpgateType.map(inside(parts.head, key), inside(parts(1), value))
      case other => Values.typeOf(other)
    }
  }
}

/**
 * What a scan of an Iceberg table reads. `ids`: numbers of columns by their names; `names`: all that files may call a column;
 * `columns`: the table's, by their numbers; `own`: those of the scan, where files themselves say what they have.
 */
private final case class IcebergScan(
    files: Seq[IcebergFile], ids: Map[String, Int], names: Map[Int, Seq[String]], columns: Map[Int, AttributeReference],
    own: Map[Int, IcebergColumn]) {
  /** Names of a column in files that are read together. */
  def stored(files: Seq[IcebergFile])(name: String): Seq[String] = {
    val id = ids(name)
    files.head.columns.fold(names(id))(_.get(id).map(_.name).toSeq)
  }

  /** The type of a column that has parts, with their names in these files, where only the files say them. */
  def typeIn(files: Seq[IcebergFile])(column: AttributeReference): Option[JumpgateType] =
    if (!Values.isNested(column.dataType)) None
    else
      for {
        id <- ids.get(column.name)
        of <- own.get(id)
        file <- files.head.columns.flatMap(_.get(id))
      } yield of.typeIn(file, column.dataType)

  /** The value of a column in files that lack it; none: NULL. */
  def before(column: AttributeReference): Option[Value] =
    ids.get(column.name).flatMap(own.get).flatMap(_.before).map(IcebergTables.literal(_, column.dataType))
}

/** Tables of Iceberg: their files, and rows of these that were deleted. */
private object IcebergTables {
  private val Query = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val NameMapping = "schema.name-mapping.default"

  /** What a scan reads. Refuses what is more than rows of files. */
  def read(scan: Scan, conf: Configuration): IcebergScan = {
    if (scan.getClass.getName != Query) NotOffloaded(Code.SOURCE, s"rows of ${scan.getClass.getName} are Spark's to read")
    val loader = scan.getClass.getClassLoader
    def named(name: String) = Class.forName(s"org.apache.iceberg.$name", false, loader)
    val table = Foreign.call[AnyRef](scan, "table")
    val (names, hasOthers) = columnNames(table, named)
    val all = names.toSeq.flatMap { case (id, of) => of.map(_.toLowerCase(ROOT) -> id) }
    // only files themselves say what they call a column, or whether they have it
    val isAsked = hasOthers || all.distinct.groupBy(_._1).exists(_._2.size > 1)
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
    if (isAsked && files.size > Footers.FilesMax)
      NotOffloaded(Code.SOURCE, "many files of an Iceberg table have other columns than others, or other names of them")
    val known = files.toSeq.sortBy(_._1).map { case (path, (file, lost)) =>
      val (byValue, byPlace) = lost.partition(deletes.isByValue)
      val format = deletes.format(file)
      if (isAsked && (byValue.nonEmpty || format != "PARQUET"))
        NotOffloaded(
          Code.SOURCE,
          "columns of an Iceberg table have a default, other names of parts, or the name of another one before, and " +
            (if (byValue.nonEmpty) "rows were deleted by values" else s"files are of $format"))
      val own = if (isAsked) Some(Footers.numbered(new Path(path), conf)) else None
      IcebergFile(path, format, deletes.rows(path, byPlace), deletes.values(byValue), own)
    }
    val own = if (isAsked) fields(Foreign.first[AnyRef](scan, "expectedSchema", "projection"), "columns").map(column(_, named)) else Nil
    val ids = if (isAsked) own.map(c => c.name -> c.id).toMap else names.flatMap { case (id, of) => of.map(_ -> id) }
    val columns = if (known.forall(_.equal.isEmpty)) Map.empty[Int, AttributeReference] else current(table, named)
    IcebergScan(known, ids, names, columns, own.map(c => c.id -> c).toMap)
  }

  private def fields(of: AnyRef, method: String): Seq[AnyRef] = Foreign.call[JavaList[AnyRef]](of, method).asScala.toSeq

  private def columnsOf(schema: AnyRef): Seq[(Int, String)] =
    fields(schema, "columns").map(c => Foreign.call[Int](c, "fieldId") -> Foreign.call[String](c, "name"))

  private def column(field: AnyRef, named: String => Class[_]): IcebergColumn =
    IcebergColumn(
      Foreign.call[Int](field, "fieldId"), Foreign.call[String](field, "name"), before(field), parts(field, named).map(column(_, named)))

  private def parts(field: AnyRef, named: String => Class[_]): Seq[AnyRef] = {
    val of = Foreign.call[AnyRef](field, "type")
    val nested = named("types.Type$NestedType")
    if (nested.isInstance(of)) Foreign.call[JavaList[AnyRef]](of, nested, "fields").asScala.toSeq else Nil
  }

  /** Versions before 1.7 know none. */
  private def before(field: AnyRef): Option[Any] =
    if (field.getClass.getMethods.exists(_.getName == "initialDefault")) Option(Foreign.call[Any](field, "initialDefault")) else None

  /** A default as Iceberg has it. */
  def literal(value: Any, dataType: DataType): Value = {
    val of: Any = (value, dataType) match {
      case (text: CharSequence, StringType) => UTF8String.fromString(text.toString)
      case (number: java.math.BigDecimal, d: DecimalType) => Decimal(number, d.precision, d.scale)
      case (plain, BooleanType | IntegerType | LongType | FloatType | DoubleType | DateType | TimestampType | TimestampNTZType) => plain
      case (_, other) => NotOffloaded(Code.SOURCE, s"a column of an Iceberg table of type ${other.simpleString} has an initial default")
    }
    Values.literal(of, dataType)
  }

  private def current(table: AnyRef, named: String => Class[_]): Map[Int, AttributeReference] = {
    val schema = Foreign.call[AnyRef](table, named("Table"), "schema")
    val types = Foreign.call[StructType](null, named("spark.SparkSchemaUtil"), "convert", named("Schema") -> schema)
    columnsOf(schema).zip(types.fields).map { case ((id, _), field) => id -> AttributeReference(field.name, field.dataType)() }.toMap
  }

  /** Of each column all names that it has had, by its number, and whether files may lack one, or have other names of its parts. */
  private def columnNames(table: AnyRef, named: String => Class[_]): (Map[Int, Seq[String]], Boolean) = {
    val of = named("Table")
    val schemas = Foreign.call[JavaMap[Integer, AnyRef]](table, of, "schemas").values.asScala.toSeq
    val columns = schemas.flatMap(fields(_, "columns"))
    def below(field: AnyRef): Seq[AnyRef] = field +: parts(field, named).flatMap(below)
    val hasDefaults = columns.flatMap(below).exists(before(_).nonEmpty)
    val hasOtherParts = columns.groupBy(Foreign.call[Int](_, "fieldId")).values.exists { same =>
      val types = same.map(c => Foreign.call[AnyRef](c, "type"))
      types.filterNot(Foreign.call[Any](_, "isPrimitiveType").asInstanceOf[Boolean]).distinct.size > 1
    }
    if (Foreign.call[JavaMap[String, String]](table, of, "properties").containsKey(NameMapping))
      NotOffloaded(Code.SOURCE, "an Iceberg table has files of others")
    val names = schemas.flatMap(columnsOf).distinct.groupBy(_._1).map { case (id, names) => id -> names.map(_._2) }
    (names, hasDefaults || hasOtherParts)
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
