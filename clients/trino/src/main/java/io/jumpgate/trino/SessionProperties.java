package io.jumpgate.trino;

import io.airlift.units.Duration;
import io.jumpgate.client.Shares;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.settings.OperatorSwitch;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.session.PropertyMetadata;
import io.trino.spi.type.VarcharType;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** What a session can choose: {@code SET SESSION CATALOG.NAME = …}. */
public final class SessionProperties {
  private static final String OFFLOAD = "offload";
  private static final String STRICT = "strict";
  private static final String SPLITS = "splits";
  private static final String WAIT = "dynamic_filtering_wait_timeout";
  /** What Trino's connectors for other systems that execute queries wait. */
  private static final Duration WAIT_DEFAULT = new Duration(20, TimeUnit.SECONDS);
  /** Those of which Trino asks; SELECT DISTINCT is an aggregation. */
  private static final List<OperatorSwitch> OPERATORS = List.of(OperatorSwitch.FILTER, OperatorSwitch.PROJECT,
      OperatorSwitch.AGGREGATION, OperatorSwitch.LIMIT, OperatorSwitch.TOP_N, OperatorSwitch.JOIN);

  private SessionProperties() {}

  static List<PropertyMetadata<?>> all() {
    PropertyMetadata<Boolean> offload = PropertyMetadata.booleanProperty(
        OFFLOAD, "accelerators compute what they can; without, they only scan", true, false);
    PropertyMetadata<Boolean> strict = PropertyMetadata.booleanProperty(STRICT,
        "a query of which an operator that Trino asks about stays ends with JUMPGATE_NOT_OFFLOADED", false, false);
    PropertyMetadata<Integer> splits = PropertyMetadata.integerProperty(
        SPLITS, Shares.DESCRIPTION, Shares.AUTOMATIC, SessionProperties::checkSplits, false);
    PropertyMetadata<Duration> wait = new PropertyMetadata<>(WAIT,
        "how long a result waits for the filters of joins above it (dynamic filters)", VarcharType.VARCHAR,
        Duration.class, WAIT_DEFAULT, false, value -> duration((String) value), Duration::toString);
    Stream<PropertyMetadata<?>> operators = OPERATORS.stream().map(
        operator -> PropertyMetadata.booleanProperty(operator.property(), operator.description(), true, false));
    return Stream.concat(Stream.of(offload, strict, splits, wait), operators).toList();
  }

  public static boolean offload(ConnectorSession session) {
    return session.getProperty(OFFLOAD, Boolean.class);
  }

  public static boolean strict(ConnectorSession session) {
    return session.getProperty(STRICT, Boolean.class);
  }

  static int splits(ConnectorSession session) {
    return session.getProperty(SPLITS, Integer.class);
  }

  /** Whether conditions on a result's rows are offloaded. */
  static boolean filters(ConnectorSession session) {
    return offload(session) && session.getProperty(OperatorSwitch.FILTER.property(), Boolean.class);
  }

  static Duration dynamicFilteringWaitTimeout(ConnectorSession session) {
    return session.getProperty(WAIT, Duration.class);
  }

  private static Duration duration(String text) {
    try {
      return Duration.valueOf(text);
    } catch (IllegalArgumentException e) {
      throw new TrinoException(
          StandardErrorCode.INVALID_SESSION_PROPERTY, WAIT + " is a duration such as 20s, not '" + text + "'", e);
    }
  }

  private static void checkSplits(int count) {
    if (count < 0 || count > Shares.MAX) {
      throw new TrinoException(
          StandardErrorCode.INVALID_SESSION_PROPERTY, SPLITS + " is 0 to " + Shares.MAX + ", not " + count);
    }
  }

  /** Raises NotOffloaded where the session leaves such operators with Trino. */
  public static void require(OperatorSwitch operator, ConnectorSession session) {
    if (!session.getProperty(operator.property(), Boolean.class)) {
      throw new NotOffloaded(operator.left("Trino"));
    }
  }
}
