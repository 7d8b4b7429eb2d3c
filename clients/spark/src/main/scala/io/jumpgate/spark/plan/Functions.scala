package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Patterns, ScalarFunction, SqlFunctions}
import java.time.{ZoneId, ZoneOffset}
import java.util.Locale.ROOT
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.OptionConverters._

/** Functions of text and dates of which Spark and dataflows have the same values; with literals where only these make sure of it. */
private final class Functions(in: Expression => Value) {
  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] = text(expression).orElse(moment(expression))

  private def text(expression: Expression): Option[Value] = Option(expression match {
    case StringLPad(s, Size(n), Text(fill)) if fill.nonEmpty => ScalarFunction.LPAD.of(in(s), Values.long(n), Request.string(fill))
    case StringRPad(s, Size(n), Text(fill)) if fill.nonEmpty => ScalarFunction.RPAD.of(in(s), Values.long(n), Request.string(fill))
    case StringRepeat(s, Size(n)) => ScalarFunction.REPEAT.of(in(s), Values.long(n))
    case Reverse(s) if s.dataType == StringType => ScalarFunction.REVERSE.of(in(s))
    case StringReplace(s, Text(old), by) if old.nonEmpty => ScalarFunction.REPLACE.of(in(s), Request.string(old), in(by))
    case StringTranslate(s, Text(old), Text(by)) => ScalarFunction.TRANSLATE.of(in(s), Request.string(old), Request.string(by))
    case ConcatWs(separator +: texts) if texts.nonEmpty && texts.forall(_.dataType == StringType) =>
      ScalarFunction.CONCAT_WS.of(in(separator) +: texts.map(in): _*)
    case StringInstr(s, Text(part)) if part.nonEmpty => number(ScalarFunction.POSITION, in(s), Request.string(part))
    case StringLocate(Text(part), s, Literal(1, _)) if part.nonEmpty => number(ScalarFunction.POSITION, in(s), Request.string(part))
    case Ascii(s) => number(ScalarFunction.ASCII, in(s))
    case OctetLength(s) if s.dataType == StringType => number(ScalarFunction.OCTET_LENGTH, in(s))
    // to Java a point is no end of a line, of which it knows more than others
    case RLike(s, Text(pattern)) if Patterns.isShared(pattern) && !pattern.contains('.') =>
      ScalarFunction.REGEXP_LIKE.of(in(s), Request.string(pattern))
    case _ => null
  })

  private def moment(expression: Expression): Option[Value] = expression match {
    case Hour(t, zone) => clock(t, zone).map(number(ScalarFunction.HOUR, _))
    case Minute(t, zone) => clock(t, zone).map(number(ScalarFunction.MINUTE, _))
    case Second(t, zone) => clock(t, zone).map(number(ScalarFunction.SECOND, _))
    case TruncTimestamp(Text(unit), t, zone) =>
      for (known <- Functions.ClockUnits.get(unit.toLowerCase(ROOT)); at <- clock(t, zone))
        yield ScalarFunction.DATE_TRUNC.of(Request.string(known), at)
    case DayOfWeek(Day(d)) =>
      val fromSunday = ScalarFunction.DAY_OF_WEEK.of(d)
      Some(Values.cast(ScalarFunction.ADD.of(fromSunday, Values.long(1)), JumpgateType.INT32))
    case WeekDay(Day(d)) =>
      val fromMonday = ScalarFunction.ISO_DAY_OF_WEEK.of(d)
      Some(Values.cast(ScalarFunction.SUBTRACT.of(fromMonday, Values.long(1)), JumpgateType.INT32))
    case DayOfYear(Day(d)) => Some(number(ScalarFunction.DAY_OF_YEAR, d))
    case WeekOfYear(Day(d)) => Some(number(ScalarFunction.WEEK, d))
    case AddMonths(Day(d), Literal(months: Int, _)) => Some(SqlFunctions.later(d, months.toLong, 0))
    case LastDay(Day(d)) => SqlFunctions.dateTrunc("month", d).toScala.map(SqlFunctions.later(_, 1, -1))
    case TruncDate(Day(d), Text(unit)) => Functions.Units.get(unit.toLowerCase(ROOT)).flatMap(SqlFunctions.dateTrunc(_, d).toScala)
    case _ => None
  }

  private def number(function: ScalarFunction, arguments: Value*): Value = Values.cast(function.of(arguments: _*), JumpgateType.INT32)

  private object Text {
    def unapply(e: Expression): Option[String] = e match {
      case Literal(text: UTF8String, _) => Some(text.toString)
      case _ => None
    }
  }

  private object Size {
    def unapply(e: Expression): Option[Long] = e match {
      case Literal(n: Int, _) if n >= 0 => Some(n.toLong)
      case _ => None
    }
  }

  private object Day {
    def unapply(e: Expression): Option[Value] = if (e.dataType == DateType) Some(in(e)) else None
  }

  /** A time whose clock is that of the zone: without one, or a moment where the session's is UTC. */
  private def clock(e: Expression, zone: Option[String]): Option[Value] = e.dataType match {
    case TimestampNTZType => Some(in(e))
    case TimestampType if zone.exists(ZoneId.of(_).normalized == ZoneOffset.UTC) => Some(in(e))
    case _ => None
  }
}

private object Functions {
  /** Of dates, by Spark's names of them. */
  private val Units = Map(
    "year" -> "year", "yyyy" -> "year", "yy" -> "year", "quarter" -> "quarter", "month" -> "month", "mm" -> "month",
    "mon" -> "month", "week" -> "week")

  private val ClockUnits = Units ++ Map(
    "day" -> "day", "dd" -> "day", "hour" -> "hour", "minute" -> "minute", "second" -> "second", "millisecond" -> "millisecond",
    "microsecond" -> "microsecond")
}
