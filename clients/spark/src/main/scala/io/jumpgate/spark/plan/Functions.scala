package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction, SqlFunctions}
import java.time.{ZoneId, ZoneOffset}
import java.util.Locale.ROOT
import java.util.regex.Pattern
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.OptionConverters._

/** Functions of which Spark and dataflows have the same values; with literals where only these make sure of it. */
private final class Functions(in: Expression => Value) {
  /** None: there is no counterpart. */
  def apply(expression: Expression): Option[Value] =
    text(expression).orElse(moment(expression)).orElse(new Numbers(in)(expression))

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
    case RLike(s, Text(pattern)) =>
      JavaPatterns.translated(pattern).map(p => ScalarFunction.REGEXP_LIKE.of(in(s), Request.string(p.text))).orNull
    case RegExpReplace(s, Text(pattern), Text(by), Literal(1, _)) =>
      Functions.replaced(pattern, by).map(p => ScalarFunction.REGEXP_REPLACE_ALL.of(in(s), Request.string(p), Request.string(by))).orNull
    case GetArrayItem(StringSplit(s, Text(pattern), Literal(limit: Int, _)), Literal(i: Int, _), fails) if limit <= 0 && s.dataType == StringType =>
      Functions.separator(pattern).filter(SqlFunctions.isPart(_, i + 1L)).map(part(in(s), _, i + 1L, fails)).orNull
    case SubstringIndex(s, Text(separator), Literal(1, _)) if separator.nonEmpty => side(s, separator, 1)
    // several characters may be found otherwise from the end
    case SubstringIndex(s, Text(separator), Literal(-1, _)) if separator.length == 1 => side(s, separator, -1)
    // of a column of type char(n)
    case e: StaticInvoke if e.functionName == "readSidePadding" =>
      e.arguments match {
        case Seq(s, Size(n)) if s.dataType == StringType =>
          val isShort = ScalarFunction.LT.of(ScalarFunction.CHAR_LENGTH.of(in(s)), Values.long(n))
          Values.caseWhen(Seq((isShort, ScalarFunction.RPAD.of(in(s), Values.long(n), Request.string(" ")))), in(s))
        case _ => null
      }
    case e: ElementAt =>
      (e.left, e.right, e.defaultValueOutOfBound) match {
        case (StringSplitSQL(s, Text(separator)), Literal(n: Int, _), Some(Text(""))) if separator.nonEmpty && n != 0 && s.dataType == StringType =>
          ScalarFunction.SPLIT_PART.of(in(s), Request.string(separator), Values.long(n.toLong))
        case _ => null
      }
    case _ => null
  })

  /** Of a text, or an error or NULL where it has fewer parts. */
  private def part(text: Value, separator: String, n: Long, fails: Boolean): Value = {
    val found = SqlFunctions.splitPart(text, separator, n)
    if (!fails || n == 1) found
    else {
      val isMissing = ScalarFunction.AND.of(ScalarFunction.IS_NULL.of(found), ScalarFunction.IS_NOT_NULL.of(text))
      Values.caseWhen(Seq((isMissing, Values.cast(TextCasts.failing(text, JumpgateType.INT64), JumpgateType.STRING))), found)
    }
  }

  private def side(text: Expression, separator: String, n: Long): Value =
    ScalarFunction.SPLIT_PART.of(in(text), Request.string(separator), Values.long(n))

  private def moment(expression: Expression): Option[Value] = expression match {
    case Hour(t, zone) => clock(t, zone).map(number(ScalarFunction.HOUR, _))
    case Minute(t, zone) => clock(t, zone).map(number(ScalarFunction.MINUTE, _))
    case Second(t, zone) => clock(t, zone).map(number(ScalarFunction.SECOND, _))
    case TruncTimestamp(Text(unit), t, zone) =>
      for (known <- Functions.ClockUnits.get(unit.toLowerCase(ROOT)); at <- clock(t, zone))
        yield ScalarFunction.DATE_TRUNC.of(Request.string(known), at)
    case DateFormatClass(t, Text(pattern), zone) => clock(t, zone).flatMap(DateFormats(pattern, _))
    case UnixTimestamp(t, _, zone, _) => clock(t, zone).map(seconds)
    case ToUnixTimestamp(t, _, zone, _) => clock(t, zone).map(seconds)
    case TimestampAddYMInterval(t, Literal(months: Int, _), zone) =>
      clock(t, zone).map(ScalarFunction.ADD_INTERVAL.of(_, Values.long(months.toLong), Values.long(0), Values.long(0)))
    case e: BinaryExpression if Functions.AddsTime(e.getClass.getSimpleName) =>
      (e.left, e.right) match {
        case (t, Literal(micros: Long, _: DayTimeIntervalType)) =>
          clock(t, zoneOf(e)).map(ScalarFunction.ADD_INTERVAL.of(_, Values.long(0), Values.long(0), Values.long(micros)))
        case _ => None
      }
    case DateAddYMInterval(Day(d), Literal(months: Int, _)) => Some(SqlFunctions.later(d, months.toLong, 0))
    case UnixDate(Day(d)) => Some(number(ScalarFunction.DAYS_BETWEEN, d, Request.date(0)))
    case DateFromUnixDate(n) => Some(ScalarFunction.DATE_ADD_DAYS.of(Request.date(0), in(n)))
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

  private def zoneOf(e: Expression): Option[String] = e match {
    case aware: TimeZoneAwareExpression => aware.timeZoneId
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

  private def clock(e: Expression, zone: Option[String]): Option[Value] = if (Functions.hasClock(e.dataType, zone)) Some(in(e)) else None

  /** Since 1970, of a time. */
  private def seconds(at: Value): Value = {
    def times(value: Value, n: Long) = ScalarFunction.MULTIPLY.of(value, Values.long(n))
    val days = ScalarFunction.DAYS_BETWEEN.of(Values.cast(at, JumpgateType.DATE), Request.date(0))
    Seq(times(days, 86400), times(ScalarFunction.HOUR.of(at), 3600), times(ScalarFunction.MINUTE.of(at), 60), ScalarFunction.SECOND.of(at))
      .reduce((a, b) => ScalarFunction.ADD.of(a, b))
  }
}

private object Functions {
  /** Additions of days and times, by their names in Spark's versions. */
  private val AddsTime = Set("TimeAdd", "TimestampAddInterval")

  /** Whether a time's clock is that of the zone: it has none, or is a moment where the session's is UTC. */
  def hasClock(dataType: DataType, zone: Option[String]): Boolean = dataType match {
    case TimestampNTZType => true
    case TimestampType => zone.exists(ZoneId.of(_).normalized == ZoneOffset.UTC)
    case _ => false
  }

  /** A pattern whose matches are replaced alike: Java finds an empty one also behind another one. */
  private def replaced(pattern: String, by: String): Option[String] =
    JavaPatterns.translated(pattern)
      .filter(p => !p.hasEnd && !Pattern.compile(pattern).matcher("").find() && !by.exists("$\\".contains(_)))
      .map(_.text)

  /** The text that a pattern of nothing else means. */
  private def separator(pattern: String): Option[String] = {
    val plain = pattern.replaceAll("\\\\([^A-Za-z0-9])", "$1")
    if (pattern.matches("([^\\\\^$.|?*+()\\[\\]{}]|\\\\[^A-Za-z0-9])+")) Some(plain) else None
  }

  /** Of dates, by Spark's names of them. */
  private val Units = Map(
    "year" -> "year", "yyyy" -> "year", "yy" -> "year", "quarter" -> "quarter", "month" -> "month", "mm" -> "month",
    "mon" -> "month", "week" -> "week")

  private val ClockUnits = Units ++ Map(
    "day" -> "day", "dd" -> "day", "hour" -> "hour", "minute" -> "minute", "second" -> "second", "millisecond" -> "millisecond",
    "microsecond" -> "microsecond")
}
