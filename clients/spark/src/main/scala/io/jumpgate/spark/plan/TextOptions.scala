package io.jumpgate.spark.plan

import io.jumpgate.explain.Code
import java.util.Locale.ROOT
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/**
 * Spark's options of JSON and CSV files as those of a read. What Spark may read otherwise fails in Jumpgate, and then Spark reads the
 * file: so a `mode` for records that are malformed changes nothing.
 */
private final class TextOptions(options: CaseInsensitiveMap[String], schema: StructType, conf: SQLConf) {
  import TextOptions._

  def json: Map[String, String] = {
    check(Text)
    Exact
  }

  def csv: Map[String, String] = {
    check(Text ++ Csv)
    val separator = options.getOrElse("sep", options.getOrElse("delimiter", ","))
    Exact ++ Map(
      // Spark counts columns, and looks at no header
      "header" -> (if (options.get("header").exists(_.equalsIgnoreCase("true"))) "skip" else "false"),
      "delimiter" -> (if (separator == "\\t") "\t" else separator),
      "quote" -> options.getOrElse("quote", "\""))
  }

  private def check(known: Map[String, Allowed]): Unit = {
    val refused = options.toSeq.collect {
      case (name, value) if !known.get(name.toLowerCase(ROOT)).exists(_(value)) => s"$name=$value"
    }
    if (refused.nonEmpty) NotOffloaded(Code.OPTION, s"the table's options ${refused.sorted.mkString(", ")} are Spark's own")
    if (schema.fieldNames.contains(conf.columnNameOfCorruptRecord))
      NotOffloaded(Code.OPTION, s"${conf.columnNameOfCorruptRecord} is Spark's own column, of malformed records")
  }
}

private object TextOptions {
  private type Allowed = String => Boolean

  private val Exact = Map("values" -> "exact")

  private val any: Allowed = _ => true
  private val isLetter: Allowed = value => value.length == 1 && value.head > ' ' && value.head < 127 && value != "\\"
  private val isSeparator: Allowed = value => isLetter(value) && value != "\"" || Set("\t", "\\t", " ")(value)

  /** Values, by option, with which a read is what it is without. */
  private val Text: Map[String, Allowed] = FileRules.OfListing.map(_ -> any).toMap ++ Map(
    "mode" -> any,
    "multiline" -> is("false"),
    "encoding" -> is("utf-8"),
    "charset" -> is("utf-8"))

  /** Text in quotes that has a quote or a backslash fails, so that only others than these two would escape anything. */
  private val Csv: Map[String, Allowed] = Map(
    "header" -> any,
    "sep" -> isSeparator,
    "delimiter" -> isSeparator,
    "quote" -> isLetter,
    "escape" -> is("\"", "\\"),
    "enforceschema" -> is("true"),
    "nullvalue" -> is(""),
    "emptyvalue" -> is(""),
    "ignoreleadingwhitespace" -> is("false"),
    "ignoretrailingwhitespace" -> is("false"))

  private def is(values: String*): Allowed = value => values.exists(_.equalsIgnoreCase(value))
}
