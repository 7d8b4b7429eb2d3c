package io.jumpgate.presto.plan;

import com.facebook.presto.common.function.SqlFunctionProperties;
import com.facebook.presto.common.type.DateTimeEncoding;
import com.facebook.presto.common.type.TimeZoneKey;
import com.facebook.presto.spi.ConnectorSession;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.ntf.HeapColumn;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;
import java.util.List;
import java.util.Map;

/**
 * What a session takes timestamps for. They count milliseconds: from 1970-01-01 00:00:00 of any clock, or, by the
 * meaning that Presto calls legacy and has by default, to the moment when the clock of the session's zone shows them.
 * Files have what clocks show.
 */
public final class SessionTime {
  private static final long MICROS = 1000;
  private static final long NANOS = 1_000_000;
  private static final int ZONE_BITS = 12;
  private static final long LEAST = Instant.parse("0001-01-01T00:00:00Z").toEpochMilli();
  private static final long GREATEST = Instant.parse("9999-12-31T23:59:59.999Z").toEpochMilli();

  private final ZoneRules rules;

  private SessionTime(ZoneRules rules) {
    this.rules = rules;
  }

  public static SessionTime of(ConnectorSession session) {
    SqlFunctionProperties properties = session.getSqlFunctionProperties();
    return of(properties.isLegacyTimestamp() ? properties.getTimeZoneKey().getId() : "UTC");
  }

  /** Where a timestamp is the moment when the clocks of this zone show it. */
  public static SessionTime of(String zone) {
    return new SessionTime(ZoneId.of(zone).getRules());
  }

  /** Whether each timestamp of a file means one of Presto's, in the same order. */
  boolean isPlain() {
    return rules.isFixedOffset();
  }

  /** Whether timestamps are moments that clocks of UTC show. */
  boolean isUtc() {
    return isPlain() && rules.getOffset(Instant.EPOCH).equals(ZoneOffset.UTC);
  }

  /**
   * Presto's values of a column of timestamps, which get into their places. Raises {@code data} for one that has none:
   * they are never rounded.
   */
  public long[] values(HeapColumn column, String name) {
    long[] values = column.longs();
    DataType type = column.type();
    boolean nanos = type.kind() == DataType.Kind.TIMESTAMP_NS || type.kind() == DataType.Kind.TIMESTAMPTZ_NS;
    long unit = nanos ? NANOS : MICROS;
    TimeZoneKey zone = type instanceof DataType.Zoned zoned ? Types.zone(zoned).orElseThrow() : null;
    for (int i = 0; i < values.length; i++) {
      if (!column.isNull(i)) {
        long millis = Math.floorDiv(values[i], unit);
        if (millis * unit != values[i]) {
          throw between(type, name, values[i], NANOS / unit);
        }
        values[i] = zone == null ? moment(millis, name) : packed(millis, zone, name);
      }
    }
    return values;
  }

  private static JumpgateException between(DataType type, String name, long value, long nanosEach) {
    long second = NANOS * 1000 / nanosEach;
    Instant whole = Instant.ofEpochSecond(Math.floorDiv(value, second), Math.floorMod(value, second) * nanosEach);
    String wayOut = type.kind() == DataType.Kind.TIMESTAMP
        ? "select date_trunc('millisecond', %s), which accelerators compute".formatted(name)
        : "leave the column out";
    return wrong(name, whole, "is between two milliseconds, which Presto counts: " + wayOut);
  }

  private long moment(long clockMillis, String name) {
    if (rules.isFixedOffset()) {
      return clockMillis - offset(rules.getOffset(Instant.EPOCH));
    }
    LocalDateTime clock = LocalDateTime.ofEpochSecond(Math.floorDiv(clockMillis, 1000L), 0, ZoneOffset.UTC);
    List<ZoneOffset> offsets = rules.getValidOffsets(clock);
    if (offsets.isEmpty()) {
      throw wrong(name, Instant.ofEpochMilli(clockMillis),
          "is a time that clocks of the session's zone skip: set another zone, or legacy_timestamp to false");
    }
    return clockMillis - offset(offsets.get(0));
  }

  private static long packed(long millis, TimeZoneKey zone, String name) {
    if (millis << ZONE_BITS >> ZONE_BITS != millis) {
      throw wrong(name, Instant.ofEpochMilli(millis), "is in no year that Presto has: leave the column out");
    }
    return DateTimeEncoding.packDateTimeWithZone(millis, zone);
  }

  private static long offset(ZoneOffset offset) {
    return offset.getTotalSeconds() * 1000L;
  }

  private static JumpgateException wrong(String name, Instant value, String what) {
    String text = value.toString().replace("Z", "");
    return new JumpgateException(
        ErrorCode.DATA, "column '%s': %s %s".formatted(name, text, what), Map.of("column", name));
  }

  /** A constant of Presto's. Raises NotOffloaded for a moment when clocks show a time for the second time. */
  Expression literal(long millis) {
    long clock = millis + offset(rules.getOffset(Instant.ofEpochMilli(millis)));
    if (clock < LEAST || clock > GREATEST) {
      throw new NotOffloaded(Code.DIALECT, "a timestamp is of the years 1 to 9999");
    }
    if (moment(clock, "") != millis) {
      throw new NotOffloaded(Code.DIALECT, "clocks of the session's zone show a timestamp twice");
    }
    return Expression.moment(clock * MICROS, DataType.TIMESTAMP);
  }
}
