package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction, SqlFunctions}
import java.util.Locale.ROOT
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import scala.jdk.OptionConverters._

/** Functions of days, times and moments, of which the session's time zone says what clocks show. */
private final class Times(in: Expression => Value) {
  import Times._

  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] = ofMoment(expression).orElse(ofDay(expression))

  private def ofMoment(expression: Expression): Option[Value] = expression match {
    case Hour(t, zone) => clock(t, zone).map(number(ScalarFunction.HOUR, _))
    case Minute(t, zone) => clock(t, zone).map(number(ScalarFunction.MINUTE, _))
    case Second(t, zone) => clock(t, zone).map(number(ScalarFunction.SECOND, _))
    case TruncTimestamp(Text(unit), t, Some(zone)) if t.dataType == TimestampType =>
      ClockUnits.get(unit.toLowerCase(ROOT)).map(truncated(_, in(t), zone))
    case DateFormatClass(t, Text(pattern), zone) => clock(t, zone).flatMap(DateFormats(pattern, _))
    case FromUnixTime(n, Text(pattern), zone) =>
      Zones.clock(ofEpoch(in(n), SecondMicros), TimestampType, zone).flatMap(DateFormats(pattern, _))
    case UnixTimestamp(t, pattern, zone, _) => unix(t, pattern, zone)
    case ToUnixTimestamp(t, pattern, zone, _) => unix(t, pattern, zone)
    case UnixSeconds(t) => Some(seconds(in(t)))
    case SecondsToTimestamp(n) if ExpressionTranslator.Whole(n.dataType) => Some(ofEpoch(in(n), SecondMicros))
    case MillisToTimestamp(n) => Some(ofEpoch(in(n), SecondMicros / 1000))
    case MicrosToTimestamp(n) => Some(ofEpoch(in(n), 1))
    case g: GetTimestamp if g.left.dataType == StringType =>
      g.right match {
        case Text(pattern) => parsed(in(g.left), pattern, g.dataType, g.timeZoneId)
        case _ => None
      }
    case TimestampAddYMInterval(t, Literal(months: Int, _), zone) if isClock(t, zone) =>
      Some(ScalarFunction.ADD_INTERVAL.of(in(t), Values.long(months.toLong), Values.long(0), Values.long(0)))
    case e: BinaryExpression if AddsTime(e.getClass.getSimpleName) =>
      (e.left, e.right) match {
        // a day of a zone may have other than 24 hours
        case (t, Literal(micros: Long, _: DayTimeIntervalType)) if micros.abs < DayMicros || isClock(t, zoneOf(e)) =>
          Some(ScalarFunction.ADD_INTERVAL.of(in(t), Values.long(0), Values.long(0), Values.long(micros)))
        case _ => None
      }
    case _ => None
  }

  private def ofDay(expression: Expression): Option[Value] = expression match {
    case DateAddYMInterval(OfDate(d), Literal(months: Int, _)) => Some(SqlFunctions.later(d, months.toLong, 0))
    case UnixDate(OfDate(d)) => Some(number(ScalarFunction.DAYS_BETWEEN, d, Request.date(0)))
    case DateFromUnixDate(n) => Some(ScalarFunction.DATE_ADD_DAYS.of(Request.date(0), in(n)))
    case DayOfWeek(OfDate(d)) =>
      val fromSunday = ScalarFunction.DAY_OF_WEEK.of(d)
      Some(Values.cast(ScalarFunction.ADD.of(fromSunday, Values.long(1)), JumpgateType.INT32))
    case WeekDay(OfDate(d)) =>
      val fromMonday = ScalarFunction.ISO_DAY_OF_WEEK.of(d)
      Some(Values.cast(ScalarFunction.SUBTRACT.of(fromMonday, Values.long(1)), JumpgateType.INT32))
    case DayOfYear(OfDate(d)) => Some(number(ScalarFunction.DAY_OF_YEAR, d))
    case WeekOfYear(OfDate(d)) => Some(number(ScalarFunction.WEEK, d))
    case AddMonths(OfDate(d), n) =>
      Some(ScalarFunction.ADD_INTERVAL.of(d, Values.cast(in(n), JumpgateType.INT64), Values.long(0), Values.long(0)))
    case LastDay(OfDate(d)) => SqlFunctions.dateTrunc("month", d).toScala.map(SqlFunctions.later(_, 1, -1))
    case TruncDate(OfDate(d), Text(unit)) => Units.get(unit.toLowerCase(ROOT)).flatMap(SqlFunctions.dateTrunc(_, d).toScala)
    case _ => None
  }

  private def clock(t: Expression, zone: Option[String]): Option[Value] =
    if (t.dataType == TimestampType || t.dataType == TimestampNTZType) Zones.clock(in(t), t.dataType, zone) else None

  private def zoneOf(e: Expression): Option[String] = e match {
    case aware: TimeZoneAwareExpression => aware.timeZoneId
    case _ => None
  }

  private object OfDate {
    def unapply(e: Expression): Option[Value] = if (e.dataType == DateType) Some(in(e)) else None
  }

  /** Java keeps the offset that a moment has, if the time that is left can have it. */
  private def truncated(unit: String, moment: Value, zone: String): Value =
    if (Zones.isUtc(zone) || Independent(unit)) ScalarFunction.DATE_TRUNC.of(Request.string(unit), moment)
    else {
      val time = Zones.clock(moment, TimestampType, Some(zone)).get
      val start = ScalarFunction.DATE_TRUNC.of(Request.string(unit), time)
      val parts = Passed.get(unit)
      parts.fold(Zones.startOfDay(Values.cast(start, JumpgateType.DATE), zone)) { parts =>
        val passed = parts.map { case (part, micros) => times(part.of(time), micros) }.reduce((a, b) => ScalarFunction.ADD.of(a, b))
        val back = ScalarFunction.NEGATE.of(passed)
        val kept = ScalarFunction.ADD_INTERVAL.of(moment, Values.long(0), Values.long(0), back)
        val isKept = ScalarFunction.EQ.of(Zones.clock(kept, TimestampType, Some(zone)).get, start)
        Values.caseWhen(Seq((isKept, kept)), Zones.moment(start, zone))
      }
    }

  /** Seconds since 1970, without what is below them: so those before count from the other side. */
  private def unix(t: Expression, pattern: Expression, zone: Option[String]): Option[Value] = (t.dataType, pattern) match {
    case (TimestampType | TimestampNTZType, _) => Some(cutSeconds(in(t)))
    case (DateType, _) => zone.map(z => seconds(Zones.startOfDay(in(t), z)))
    case (StringType, Text(p)) => parsed(in(t), p, TimestampType, zone).map(seconds)
    case _ => None
  }

  private def cutSeconds(at: Value): Value = {
    val time = Values.cast(at, JumpgateType.TIMESTAMP)
    val hasMore = ScalarFunction.NE.of(ScalarFunction.MODULO.of(ScalarFunction.MICROSECOND.of(time), Values.long(SecondMicros)), Values.long(0))
    val isBefore = ScalarFunction.LT.of(time, Request.moment(0, JumpgateType.TIMESTAMP))
    val floor = seconds(at)
    Values.caseWhen(Seq((ScalarFunction.AND.of(isBefore, hasMore), ScalarFunction.ADD.of(floor, Values.long(1)))), floor)
  }
}

private object Times {
  private val SecondMicros = 1000000L
  private val DayMicros = 86400 * SecondMicros

  /** Additions of days and times, by their names in Spark's versions. */
  private val AddsTime = Set("TimeAdd", "TimestampAddInterval")

  /** Of dates, by Spark's names of them. */
  private val Units = Map(
    "year" -> "year", "yyyy" -> "year", "yy" -> "year", "quarter" -> "quarter", "month" -> "month", "mm" -> "month",
    "mon" -> "month", "week" -> "week")

  private val ClockUnits = Units ++ Map(
    "day" -> "day", "dd" -> "day", "hour" -> "hour", "minute" -> "minute", "second" -> "second", "millisecond" -> "millisecond",
    "microsecond" -> "microsecond")

  /** Offsets are whole seconds. */
  private val Independent = Set("second", "millisecond", "microsecond")

  /** What of a time has passed since a unit's start, and in microseconds. */
  private val Passed: Map[String, Seq[(ScalarFunction, Long)]] = {
    val minute = Seq(ScalarFunction.MICROSECOND -> 1L)
    val hour = minute :+ (ScalarFunction.MINUTE -> 60 * SecondMicros)
    Map("minute" -> minute, "hour" -> hour, "day" -> (hour :+ (ScalarFunction.HOUR -> 3600 * SecondMicros)))
  }

  /** Patterns of times in text, and what of a text they take alone. */
  private val Parsed = Map(
    "yyyy-MM-dd HH:mm:ss" -> "^[0-9]{4}-[0-9]{2}-[0-9]{2} ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$",
    "yyyy-MM-dd'T'HH:mm:ss" -> "^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$")
  private val ParsedDay = "yyyy-MM-dd"

  /** A text's time by a pattern; what Spark may read otherwise fails. */
  private def parsed(text: Value, pattern: String, dataType: DataType, zone: Option[String]): Option[Value] = {
    val time = Parsed.get(pattern).map(TextCasts.guarded(_, text, JumpgateType.TIMESTAMP))
      .orElse(if (pattern == ParsedDay) Some(Values.cast(TextCasts.guarded(TextCasts.Day, text, JumpgateType.DATE), JumpgateType.TIMESTAMP)) else None)
    dataType match {
      case TimestampNTZType => time
      case _ => for (t <- time; z <- zone) yield Zones.moment(t, z)
    }
  }

  /** Whether a time's clock is that of UTC: it has none, or is a moment where the session's is UTC. */
  private def isClock(t: Expression, zone: Option[String]): Boolean = t.dataType match {
    case TimestampNTZType => true
    case TimestampType => zone.exists(Zones.isUtc)
    case _ => false
  }

  private def number(function: ScalarFunction, arguments: Value*): Value = Values.cast(function.of(arguments: _*), JumpgateType.INT32)

  private def times(value: Value, n: Long): Value = ScalarFunction.MULTIPLY.of(value, Values.long(n))

  /** The moment so many units after 1970; `micros`: in one. */
  def ofEpoch(n: Value, micros: Long): Value = {
    val passed = times(Values.cast(n, JumpgateType.INT64), micros)
    val start = Request.moment(0, JumpgateType.TIMESTAMP)
    Values.cast(ScalarFunction.ADD_INTERVAL.of(start, Values.long(0), Values.long(0), passed), Zones.Moment)
  }

  /** Since 1970, of a time, which may be later by less than one. */
  def seconds(at: Value): Value = {
    val days = ScalarFunction.DAYS_BETWEEN.of(Values.cast(at, JumpgateType.DATE), Request.date(0))
    Seq(times(days, 86400), times(ScalarFunction.HOUR.of(at), 3600), times(ScalarFunction.MINUTE.of(at), 60), ScalarFunction.SECOND.of(at))
      .reduce((a, b) => ScalarFunction.ADD.of(a, b))
  }
}
