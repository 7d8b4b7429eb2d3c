package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.session.PropertyMetadata;
import java.util.List;

/** What a session can choose: {@code SET SESSION CATALOG.NAME = …}. */
public record SessionProperties(boolean offload) {
  private static final String OFFLOAD = "offload";

  static List<PropertyMetadata<?>> all() {
    return List.of(PropertyMetadata.booleanProperty(
        OFFLOAD, "Compute on accelerators what they can compute; else they only scan", true, false));
  }

  public static SessionProperties of(ConnectorSession session) {
    return new SessionProperties(session.getProperty(OFFLOAD, Boolean.class));
  }
}
