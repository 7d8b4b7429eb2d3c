package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}
import java.time.format.DateTimeFormatter
import java.time.LocalDate
import java.util.Locale

/** Times as text, by patterns of Java's: parts of times in digits, names of months and days, and what is no letter or is quoted. */
private object DateFormats {
  /** A letter once or several times, text in quotes, or text that is no letter and means itself. */
  private val Piece = "(([A-Za-z])\\2*)|'([^']+)'|[^A-Za-z'\\[\\]{}#]+".r

  /** A part's digits, as many as the pattern has letters at least. */
  private val Digits: Map[String, Value => Value] = {
    val parts = Map(
      'M' -> ScalarFunction.MONTH, 'd' -> ScalarFunction.DAY, 'H' -> ScalarFunction.HOUR, 'm' -> ScalarFunction.MINUTE,
      's' -> ScalarFunction.SECOND)
    val plain = parts.flatMap { case (letter, part) =>
      Seq(1, 2).map(n => letter.toString * n -> ((at: Value) => digits(part.of(at), n)))
    }
    plain ++ Map[String, Value => Value](
      "yyyy" -> (at => digits(ScalarFunction.YEAR.of(at), 4)),
      "y" -> (at => digits(ScalarFunction.YEAR.of(at), 1)),
      "yy" -> (at => digits(rest(ScalarFunction.YEAR.of(at), 100), 2)),
      "Q" -> (at => digits(ScalarFunction.QUARTER.of(at), 1)),
      "q" -> (at => digits(ScalarFunction.QUARTER.of(at), 1)),
      "D" -> (at => digits(ScalarFunction.DAY_OF_YEAR.of(at), 1)),
      "DDD" -> (at => digits(ScalarFunction.DAY_OF_YEAR.of(at), 3)),
      "h" -> (at => digits(half(at), 1)),
      "hh" -> (at => digits(half(at), 2)))
  }

  /** None: the pattern has other parts. */
  def apply(pattern: String, at: Value): Option[Value] = {
    val pieces = Piece.findAllIn(pattern).toSeq
    val texts = pieces.map(text(_, at))
    if (pieces.mkString != pattern || pieces.isEmpty || texts.exists(_.isEmpty)) None
    else {
      val isMissing = ScalarFunction.IS_NULL.of(at) // also where the pattern has nothing of it
      val text = TextCasts.ofCalendar(at, ScalarFunction.CONCAT.of(texts.flatten: _*))
      Some(Values.caseWhen(Seq((isMissing, Request.nullOf(JumpgateType.STRING))), text))
    }
  }

  private def text(piece: String, at: Value): Option[Value] = piece match {
    case "a" => Some(Values.caseWhen(Seq((ScalarFunction.LT.of(ScalarFunction.HOUR.of(at), Values.long(12)), Request.string("AM"))), Request.string("PM")))
    case "E" | "EE" | "EEE" | "EEEE" => Some(named(piece, ScalarFunction.ISO_DAY_OF_WEEK.of(at), 7, n => LocalDate.of(2024, 1, n)))
    case "MMM" | "MMMM" => Some(named(piece, ScalarFunction.MONTH.of(at), 12, n => LocalDate.of(2024, n, 1)))
    case fraction if fraction.forall(_ == 'S') && fraction.length <= 6 =>
      val micros = digits(rest(ScalarFunction.MICROSECOND.of(at), 1000000), 6)
      Some(ScalarFunction.LEFT.of(micros, Values.long(fraction.length.toLong)))
    case quoted if quoted.head == '\'' => Some(Request.string(quoted.drop(1).dropRight(1)))
    case other if !other.head.isLetter => Some(Request.string(other))
    case letters => Digits.get(letters).map(_(at))
  }

  /** The names that Java has of a number from 1 on. */
  private def named(letters: String, number: Value, count: Int, example: Int => LocalDate): Value = {
    val names = DateTimeFormatter.ofPattern(letters, Locale.US)
    val texts = (1 to count).map(n => Request.string(names.format(example(n))))
    val branches = (1 until count).map(n => (ScalarFunction.EQ.of(number, Values.long(n.toLong)), texts(n - 1): Value))
    Values.caseWhen(branches, texts.last)
  }

  /** Of 12 hours. */
  private def half(at: Value): Value = {
    val before = rest(ScalarFunction.ADD.of(ScalarFunction.HOUR.of(at), Values.long(11)), 12)
    ScalarFunction.ADD.of(before, Values.long(1))
  }

  private def rest(value: Value, n: Long): Value = ScalarFunction.MODULO.of(value, Values.long(n))

  /** A number of no more digits than `least`, unless that is 1. */
  private def digits(value: Value, least: Int): Value = {
    val text = Values.cast(value, JumpgateType.STRING)
    if (least == 1) text else ScalarFunction.LPAD.of(text, Values.long(least.toLong), Request.string("0"))
  }
}
