package io.jumpgate.presto;

import com.facebook.presto.common.type.IntegerType;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.PrestoException;
import com.facebook.presto.spi.StandardErrorCode;
import com.facebook.presto.spi.session.PropertyMetadata;
import io.jumpgate.client.Shares;
import io.jumpgate.settings.OperatorSwitch;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** What a session can choose: {@code SET SESSION CATALOG.NAME = …}. {@code disabled}: what stays with Presto. */
public record SessionProperties(boolean offload, boolean strict, int splits, Set<OperatorSwitch> disabled) {
  private static final String OFFLOAD = "offload";
  private static final String STRICT = "strict";
  private static final String SPLITS = "splits";

  static List<PropertyMetadata<?>> all() {
    PropertyMetadata<Boolean> offload = PropertyMetadata.booleanProperty(
        OFFLOAD, "accelerators compute what they can; without, they only scan", true, false);
    PropertyMetadata<Boolean> strict = PropertyMetadata.booleanProperty(STRICT,
        "a query of which an operator that the planner shows stays ends with JUMPGATE_NOT_OFFLOADED", false, false);
    PropertyMetadata<Integer> splits = new PropertyMetadata<>(SPLITS, Shares.DESCRIPTION, IntegerType.INTEGER,
        Integer.class, Shares.AUTOMATIC, false, value -> splits((Integer) value), count -> count);
    Stream<PropertyMetadata<?>> operators =
        Stream.of(OperatorSwitch.values())
            .map(
                operator -> PropertyMetadata.booleanProperty(operator.property(), operator.description(), true, false));
    return Stream.concat(Stream.of(offload, strict, splits), operators).toList();
  }

  public static SessionProperties of(ConnectorSession session) {
    Set<OperatorSwitch> disabled = EnumSet.noneOf(OperatorSwitch.class);
    for (OperatorSwitch operator : OperatorSwitch.values()) {
      if (!session.getProperty(operator.property(), Boolean.class)) {
        disabled.add(operator);
      }
    }
    return new SessionProperties(session.getProperty(OFFLOAD, Boolean.class),
        session.getProperty(STRICT, Boolean.class), session.getProperty(SPLITS, Integer.class), Set.copyOf(disabled));
  }

  private static int splits(int count) {
    if (count < 0 || count > Shares.MAX) {
      throw new PrestoException(
          StandardErrorCode.INVALID_SESSION_PROPERTY, SPLITS + " is 0 to " + Shares.MAX + ", not " + count);
    }
    return count;
  }
}
