package io.jumpgate.spark.exec

import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import org.apache.spark.SparkFiles
import scala.jdk.CollectionConverters._

/** Files that Spark brings to the driver, wherever in the cluster it runs (`spark.files`, `spark.archives`). */
object Shipped {
  private val Own = PosixFilePermissions.fromString("rw-------")

  /** The file or folder of that name on the driver's machine, else the one that Spark has brought under it. */
  def path(name: String): Path = {
    val here = Path.of(name)
    if (here.isAbsolute || Files.exists(here)) here else closed(Path.of(SparkFiles.get(name)))
  }

  /** A copy that Spark has made with the permissions of any file: from now on only this user reads it. */
  private def closed(copy: Path): Path = {
    if (Files.isDirectory(copy)) {
      val files = Files.list(copy)
      try files.iterator.asScala.filter(Files.isRegularFile(_)).foreach(Files.setPosixFilePermissions(_, Own))
      finally files.close()
    } else if (Files.exists(copy)) Files.setPosixFilePermissions(copy, Own)
    copy
  }
}
