package io.jumpgate.spark.plan

import io.jumpgate.explain.Code

/** Rows that a table has deleted from a file, as the option `deleted` of a read has them: jumpgate/dataflow/deleted.py says how. */
private object Deleted {
  /** Of all files of a table; more of them are no part of a plan. */
  private val TextsMax = 1 << 20

  private val Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  /** The text of rows in any order, which may be there twice. */
  def encode(rows: Array[Long]): String = {
    val sorted = rows.sorted
    val text = new StringBuilder
    var at = 0L // the row after the last run
    var i = 0
    while (i < sorted.length) {
      val first = sorted(i)
      var end = first + 1
      i += 1
      while (i < sorted.length && sorted(i) <= end) {
        end = sorted(i) + 1
        i += 1
      }
      val isRun = end > first + 1
      append(text, 2 * (first - at) + (if (isRun) 1 else 0))
      if (isRun) append(text, end - first - 2)
      at = end
    }
    text.toString
  }

  /** The option's value for files in their order; none if no row of them is deleted. */
  def option(texts: Seq[String]): Map[String, String] = {
    if (texts.map(_.length.toLong).sum > TextsMax)
      NotOffloaded(Code.SOURCE, "the table has deleted more rows from its files than a plan holds; rewrite them without these")
    if (texts.forall(_.isEmpty)) Map.empty else Map("deleted" -> texts.mkString(","))
  }

  private def append(text: StringBuilder, number: Long): Unit = {
    var rest = number
    while (rest >= 32) {
      text.append(Digits((rest & 31 | 32).toInt))
      rest >>= 5
    }
    text.append(Digits(rest.toInt))
  }
}
