package io.jumpgate.spark.plan

import io.jumpgate.explain.Code
import java.util.{Collection => JavaCollection, List => JavaList, Map => JavaMap}
import org.apache.spark.sql.catalyst.expressions.Attribute
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

/** Tables of Delta Lake: their files of Parquet, of which no row was deleted by itself. */
private object DeltaTables {
  private val Format = "org.apache.spark.sql.delta.DeltaParquetFileFormat"
  private val Indexes = Set("org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex", "org.apache.spark.sql.delta.files.TahoeLogFileIndex")
  private val PhysicalName = "delta.columnMapping.physicalName"

  def isOne(relation: HadoopFsRelation): Boolean = relation.fileFormat.getClass.getName == Format

  /** Names in the files, by the table's. Refuses what is more than rows of files. */
  def names(relation: HadoopFsRelation): Map[String, String] = {
    val (format, index) = (relation.fileFormat, relation.location)
    if (!Indexes(index.getClass.getName)) NotOffloaded(Code.SOURCE, s"${index.getClass.getName} says which rows a Delta table has")
    val filters = Seq.fill(2)(classOf[Seq[_]] -> Nil)
    val files = Foreign.call[Seq[AnyRef]](index, index.getClass, "matchingFiles", filters: _*)
    if (files.exists(Foreign.call[AnyRef](_, "deletionVector") != null))
      NotOffloaded(Code.SOURCE, "a Delta table with deletion vectors is Spark's to read")
    val mode = Foreign.call[AnyRef](format, "columnMappingMode")
    Foreign.call[String](mode, "name") match {
      case "none" => Map.empty
      case "name" =>
        Foreign.call[StructType](format, "referenceSchema").map { f =>
          if (Values.isNested(f.dataType)) NotOffloaded(Code.SOURCE, s"parts of ${f.name} have other names in the files of a Delta table")
          f.name -> (if (f.metadata.contains(PhysicalName)) f.metadata.getString(PhysicalName) else f.name)
        }.toMap
      case other => NotOffloaded(Code.SOURCE, s"columns of a Delta table are mapped by $other")
    }
  }
}

/** Tables of Iceberg: their files of Parquet, of which no row was deleted by itself. */
private object IcebergTables {
  private val Query = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val NameMapping = "schema.name-mapping.default"

  /** Paths of a scan's files. Refuses what is more than rows of files, in which columns are called as in `output`. */
  def files(scan: Scan, output: Seq[Attribute]): Seq[String] = {
    if (scan.getClass.getName != Query) NotOffloaded(Code.SOURCE, s"rows of ${scan.getClass.getName} are Spark's to read")
    val loader = scan.getClass.getClassLoader
    def named(name: String) = Class.forName(s"org.apache.iceberg.$name", false, loader)
    val names = columnNames(Foreign.call[AnyRef](scan, "table"), named)
    output.find(a => !names(a.name)).foreach(a => NotOffloaded(Code.COLUMN, s"${a.name} is not in the files"))
    val task = named("FileScanTask")
    val content = named("ContentFile")
    val tasks = scan.toBatch.planInputPartitions().toSeq.flatMap { partition =>
      val group = Foreign.call[AnyRef](partition, "taskGroup")
      Foreign.call[JavaCollection[AnyRef]](group, named("ScanTaskGroup"), "tasks").asScala
    }
    tasks.map { t =>
      if (!task.isInstance(t)) NotOffloaded(Code.SOURCE, s"${t.getClass.getName} is more than rows of an Iceberg table's files")
      if (!Foreign.call[JavaList[AnyRef]](t, task, "deletes").isEmpty)
        NotOffloaded(Code.SOURCE, "an Iceberg table with deleted rows is Spark's to read")
      val file = Foreign.call[AnyRef](t, task, "file")
      val format = Foreign.call[AnyRef](file, content, "format").toString
      if (format != "PARQUET") NotOffloaded(Code.FORMAT, s"an Iceberg table's files of $format are Spark's to read")
      Foreign.call[AnyRef](file, content, "path").toString
    }.distinct
  }

  /** Each name has meant one column ever, whose values are all in the files. */
  private def columnNames(table: AnyRef, named: String => Class[_]): Set[String] = {
    val of = named("Table")
    val schemas = Foreign.call[JavaMap[Integer, AnyRef]](table, of, "schemas").values.asScala.toSeq
    val columns = schemas.flatMap(schema => Foreign.call[JavaList[AnyRef]](schema, "columns").asScala)
    val known = columns.map(c => Foreign.call[Any](c, "fieldId") -> Foreign.call[String](c, "name")).distinct
    if (known.map(_._1).distinct.size < known.size || known.map(_._2).distinct.size < known.size)
      NotOffloaded(Code.SOURCE, "columns of an Iceberg table were renamed, or dropped and added again")
    if (columns.exists(c => c.getClass.getMethods.exists(_.getName == "initialDefault") && Foreign.call[AnyRef](c, "initialDefault") != null))
      NotOffloaded(Code.SOURCE, "a column of an Iceberg table has an initial default")
    if (schemas.size > 1 && columns.exists(c => !Foreign.call[Any](Foreign.call[AnyRef](c, "type"), "isPrimitiveType").asInstanceOf[Boolean]))
      NotOffloaded(Code.SOURCE, "parts of an Iceberg table's columns may have had other names")
    if (Foreign.call[JavaMap[String, String]](table, of, "properties").containsKey(NameMapping))
      NotOffloaded(Code.SOURCE, "an Iceberg table has files of others")
    known.map(_._2).toSet
  }
}

