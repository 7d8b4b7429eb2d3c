package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}
import java.time.LocalDate
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.CollectionConverters._

/**
 * Casts from and to text. A text whose value is not certainly Spark's fails the job, and Spark casts it: so one that has none is an error,
 * or NULL, as the cast says.
 */
private object TextCasts {
  private val True = Seq("t", "true", "y", "yes", "1")
  private val False = Seq("f", "false", "n", "no", "0")
  private val Clock = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?$"
  /** With the offset of its clock. */
  private val Moment = Clock.dropRight(1) + "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
  val Day = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
  private val DayBytes = 10
  private val DayMicros = 86400000000L
  /** Up to this scale a decimal's text has no exponent. */
  private val PlainScale = 6

  /** None: there is no counterpart. */
  def apply(e: Cast, in: Expression => Value): Option[Value] = (e.child, e.dataType) match {
    case (OfDay(text), DateType) => Some(guarded(Day, in(text), JumpgateType.DATE))
    case (child, to) if child.dataType == StringType => from(in(child), to, e.timeZoneId)
    case (child, StringType) => to(in(child), child.dataType, e)
    case _ => None
  }

  private def from(text: Value, to: DataType, zone: Option[String]): Option[Value] = to match {
    case t if ExpressionTranslator.Whole(t) => Some(Values.cast(text, Values.typeOf(t)))
    case d: DecimalType =>
      val isShort = ScalarFunction.LE.of(ScalarFunction.OCTET_LENGTH.of(text), Values.long(DecimalType.MAX_PRECISION.toLong))
      Some(guarded(isShort, text, Values.typeOf(d)))
    // infinities and NaN have several names
    case DoubleType => Some(guarded(ScalarFunction.NOT.of(matches(text, "[nN]")), text, JumpgateType.FLOAT64))
    case BooleanType => Some(truth(text))
    case DateType =>
      val length = ScalarFunction.LE.of(ScalarFunction.OCTET_LENGTH.of(text), Values.long(DayBytes.toLong))
      Some(guarded(Values.and(Seq(length, ScalarFunction.CONTAINS.of(text, Request.string("-")))), text, JumpgateType.DATE))
    case TimestampNTZType => Some(guarded(Clock, text, JumpgateType.TIMESTAMP))
    case TimestampType => zone.map(moment(text, _))
    case _ => None
  }

  /** A text's moment, by the clocks of a zone or those that it names itself. */
  def moment(text: Value, zone: String): Value = {
    val time = Values.cast(text, JumpgateType.TIMESTAMP)
    Values.caseWhen(
      Seq((matches(text, Clock), Zones.moment(time, zone)), (matches(text, Moment), Values.cast(time, Zones.Moment))),
      failing(text, Zones.Moment))
  }

  private def to(value: Value, from: DataType, e: Cast): Option[Value] = from match {
    case t if ExpressionTranslator.Whole(t) || t == BooleanType => Some(Values.cast(value, JumpgateType.STRING))
    case DateType => Some(ofCalendar(value, Values.cast(value, JumpgateType.STRING)))
    case d: DecimalType if d.scale <= PlainScale || e.evalMode == EvalMode.ANSI => Some(Values.cast(value, JumpgateType.STRING))
    case TimestampType | TimestampNTZType =>
      Zones.clock(value, from, e.timeZoneId).map { t =>
        val time = Values.cast(t, JumpgateType.TIMESTAMP)
        ofCalendar(time, Values.cast(time, JumpgateType.STRING))
      }
    case _ => None
  }

  /** A text of a day or a time, or an error where its year has not four digits, of which Spark has texts of its own. */
  def ofCalendar(at: Value, text: Value): Value = {
    val isDay = at.dataType.same(JumpgateType.DATE)
    def bound(day: LocalDate, later: Long): Value =
      if (isDay) Request.date(day.toEpochDay.toInt) else Request.moment(day.toEpochDay * DayMicros + later, JumpgateType.TIMESTAMP)
    val isOther = ScalarFunction.OR.of(
      ScalarFunction.LT.of(at, bound(LocalDate.of(1, 1, 1), 0)), ScalarFunction.GT.of(at, bound(LocalDate.of(9999, 12, 31), DayMicros - 1)))
    val error = Values.cast(failing(Values.cast(at, JumpgateType.STRING), JumpgateType.INT64), JumpgateType.STRING)
    Values.caseWhen(Seq((isOther, error)), text)
  }

  private def truth(text: Value): Value = {
    def isOf(words: Seq[String]) = Request.in(ScalarFunction.LOWER.of(text), words.map(Request.string).asJava)
    Values.caseWhen(
      Seq((isOf(True), Request.bool(true)), (isOf(False), Request.bool(false))), failing(text, JumpgateType.BOOL))
  }

  private def matches(text: Value, pattern: String): Value = ScalarFunction.REGEXP_LIKE.of(text, Request.string(pattern))

  /** A text's value where a pattern matches it, else an error. */
  def guarded(pattern: String, text: Value, to: JumpgateType): Value = guarded(matches(text, pattern), text, to)

  private def guarded(condition: Value, text: Value, to: JumpgateType): Value =
    Values.caseWhen(Seq((condition, Values.cast(text, to))), failing(text, to))

  /** An error for every text; NULL for NULL. */
  def failing(text: Value, to: JumpgateType): Value = Values.cast(ScalarFunction.CONCAT.of(text, Request.string("?")), to)

  /** A day of a text by the usual pattern. */
  private object OfDay {
    def unapply(e: Expression): Option[Expression] = e match {
      case g: GetTimestamp if g.left.dataType == StringType =>
        g.right match {
          case Literal(pattern: UTF8String, _) if pattern.toString == "yyyy-MM-dd" => Some(g.left)
          case _ => None
        }
      case _ => None
    }
  }
}
