package io.jumpgate.spark

import io.jumpgate.Defaults
import io.jumpgate.ntf
import org.apache.spark.SparkConf
import org.apache.spark.sql.internal.SQLConf

/** A setting: its name, what it does, and what it is unsaid. */
final case class Setting[T](name: String, default: T, values: String, doc: String, private val parse: String => T) {
  def apply(conf: SQLConf): T = parsed(conf.getConfString(name, default.toString))

  /** Of the application, for executors. */
  def of(conf: SparkConf): T = parsed(conf.get(name, default.toString))

  private def parsed(text: String): T =
    try parse(text)
    catch {
      case _: IllegalArgumentException => throw new IllegalArgumentException(s"$name is '$text'; it can be $values")
    }
}

/** Every setting of the plugin; docs/spark.md has them from here. */
object Settings {
  val Enabled = flag("spark.jumpgate.enabled", default = true, "whether any plan is offloaded; may be set in a running session")
  val Address = Setting[String]("spark.jumpgate.address", Defaults.ADDRESS, "host:port", "where `jumpgate serve` listens", identity)
  val Tls = Setting[String](
    "spark.jumpgate.tls",
    "",
    "a folder",
    "the driver's certificate for a service on another machine, also of `spark.archives`; by default `$JUMPGATE_TLS`",
    identity)
  val TokenFile = Setting[String](
    "spark.jumpgate.tokenFile",
    "",
    "a file",
    "the driver's token for a service of another user or machine, also of `spark.files`; by default `$JUMPGATE_TOKEN_FILE`",
    identity)
  val Offload = choice(
    "spark.jumpgate.offload",
    Seq("auto", "always", "never"),
    "`auto`: what the service expects to take less time than Spark; `always`: whatever can be; `never`: nothing")
  val Strict = flag(
    "spark.jumpgate.strict",
    default = false,
    "whether a query fails where it would fall back to Spark's own plan at run time")
  val Stores = flag(
    "spark.jumpgate.stores",
    default = false,
    "whether tables in object stores and HDFS are offloaded: the service reads the same stores under the same names")
  val Rights = choice(
    "spark.jumpgate.stores.credentials",
    Seq("service", "user"),
    "`user`: the service reads stores with the credentials of the query's session (`fs.s3a.*`, delegation tokens), for that query alone; `service`: with its own")

  /** Whether stores are read with the rights of the session's user. */
  def areUsers(conf: SQLConf): Boolean = Rights(conf) == "user"

  val Partitions = whole(
    "spark.jumpgate.partitions",
    0,
    0,
    "into how many partitions a result without an order is received; 0: one for each core")
  val Timeout = whole("spark.jumpgate.timeoutSeconds", 60, 1, "how long the service may take to plan and compile a request")
  val Ports = Setting[ntf.Ports](
    "spark.jumpgate.ports",
    ntf.Ports.ANY,
    "`0`, or FIRST-LAST",
    "where executors receive results, one port for each partition of each query at a time; 0: any port that is free",
    ntf.Ports.parse)
  val All: Seq[Setting[_]] = Seq(Enabled, Address, Tls, TokenFile, Offload, Strict, Stores, Rights, Partitions, Ports, Timeout)

  /** docs/spark.md's table. */
  def table: String =
    (Seq("| setting | default | values | meaning |", "| --- | --- | --- | --- |") ++
      All.map(s => s"| `${s.name}` | ${code(s.default.toString)} | ${s.values} | ${s.doc} |")).mkString("\n")

  private def code(text: String): String = if (text.isEmpty) "" else s"`$text`"

  private def flag(name: String, default: Boolean, doc: String): Setting[Boolean] =
    Setting(name, default, "`true`, `false`", doc, _.toBoolean)

  private def choice(name: String, values: Seq[String], doc: String): Setting[String] =
    Setting[String](name, values.head, values.map(v => s"`$v`").mkString(", "), doc, text => {
      if (!values.contains(text)) throw new IllegalArgumentException(text)
      text
    })

  private def whole(name: String, default: Int, least: Int, doc: String): Setting[Int] =
    Setting[Int](name, default, s"a number of at least $least", doc, text => {
      val value = text.toInt
      if (value < least) throw new IllegalArgumentException(text)
      value
    })
}
