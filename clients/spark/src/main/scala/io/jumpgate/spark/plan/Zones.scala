package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}
import io.jumpgate.explain.Code
import java.time.zone.{ZoneOffsetTransition, ZoneRules}
import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}
import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import scala.jdk.CollectionConverters._

/** Moments as the times that clocks of a zone show, and back, by the rules of Java's zones, which go along with a request. */
private object Zones {
  /** Of moments, whatever the zone is in which people see them. */
  val Moment: JumpgateType = JumpgateType.timestamptz("UTC")

  /** Tables for `add_offset`: of moments, of times, and of the midnights with which days begin. */
  private final case class Tables(ofMoments: Option[Value], ofTimes: Option[Value], ofMidnights: Option[Value])

  private val known = new ConcurrentHashMap[String, Tables]()

  /** Zones that change their offsets for ever: a later moment fails in Jumpgate. */
  private val Until = LocalDate.of(2100, 1, 1).toEpochDay * 86400

  def isUtc(zone: String): Boolean = tables(zone).ofMoments.isEmpty

  /** What the zone's clocks show at a moment, or a time itself; None: it is neither. */
  def clock(value: Value, dataType: DataType, zone: Option[String]): Option[Value] = dataType match {
    case TimestampNTZType => Some(value)
    case TimestampType => zone.map(z => moved(value, tables(z).ofMoments))
    case _ => None
  }

  /** The moment at which clocks show a time: the first one of two, and of none the one that is as far behind the gap. */
  def moment(time: Value, zone: String): Value = Values.cast(moved(time, tables(zone).ofTimes), Moment)

  /** The first moment of a day. */
  def startOfDay(day: Value, zone: String): Value = Values.cast(moved(day, tables(zone).ofMidnights), Moment)

  private def moved(value: Value, table: Option[Value]): Value = {
    val time = Values.cast(value, JumpgateType.TIMESTAMP)
    table.fold(time)(ScalarFunction.ADD_OFFSET.of(time, _))
  }

  private def tables(zone: String): Tables = known.computeIfAbsent(zone, name => of(DateTimeUtils.getZoneId(name).getRules))

  private def of(rules: ZoneRules): Tables =
    if (rules.isFixedOffset) {
      val offset = rules.getOffset(Instant.EPOCH).getTotalSeconds.toLong
      val (added, subtracted) = (table(offset, Nil, Nil), table(-offset, Nil, Nil))
      if (offset == 0) Tables(None, None, None) else Tables(added, subtracted, subtracted)
    } else {
      val changes = transitions(rules)
      val before = changes.head.getOffsetBefore.getTotalSeconds.toLong
      val end = if (rules.getTransitionRules.isEmpty) Nil else Seq(Until)
      Tables(
        table(before, changes.map(c => c.toEpochSecond -> after(c)), end),
        table(-before, changes.map(c => showsAfter(c) -> -after(c)), end),
        table(-before, changes.flatMap(midnights), end))
    }

  private def transitions(rules: ZoneRules): Seq[ZoneOffsetTransition] = {
    val first = rules.getTransitions.asScala.toSeq
    val later = Iterator.iterate(rules.nextTransition(first.last.getInstant))(c => rules.nextTransition(c.getInstant))
    (first ++ later.takeWhile(c => c != null && c.toEpochSecond < Until)).filter(_.toEpochSecond < Until)
  }

  private def after(c: ZoneOffsetTransition): Long = c.getOffsetAfter.getTotalSeconds.toLong

  private def seconds(time: LocalDateTime): Long = time.toEpochSecond(ZoneOffset.UTC)

  /** From which time on clocks show times of the new offset alone. */
  private def showsAfter(c: ZoneOffsetTransition): Long = seconds(c.getDateTimeBefore).max(seconds(c.getDateTimeAfter))

  /** A day that begins in a gap does so behind it. */
  private def midnights(c: ZoneOffsetTransition): Seq[(Long, Long)] = {
    val (from, to) = (seconds(c.getDateTimeBefore), seconds(c.getDateTimeAfter))
    val midnight = Math.floorDiv(from + 86399, 86400L) * 86400
    val inGap = if (c.isGap && midnight > from && midnight < to) Seq(midnight -> (c.toEpochSecond - midnight)) else Nil
    inGap :+ (showsAfter(c) -> -after(c))
  }

  private def table(first: Long, changes: Seq[(Long, Long)], end: Seq[Long]): Option[Value] = {
    if (changes.map(_._1).zip(changes.map(_._1).drop(1)).exists { case (a, b) => a >= b })
      NotOffloaded(Code.EXPRESSION, "the offsets of the session's time zone change too often")
    Some(Request.string((Seq(first) ++ changes.flatMap { case (at, offset) => Seq(at, offset) } ++ end).mkString(",")))
  }
}
