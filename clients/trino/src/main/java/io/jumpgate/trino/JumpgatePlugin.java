package io.jumpgate.trino;

import io.trino.spi.Plugin;
import io.trino.spi.connector.ConnectorFactory;
import java.util.List;

/** What Trino finds in the plugin folder. */
public final class JumpgatePlugin implements Plugin {
  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    return List.of(new JumpgateConnectorFactory());
  }
}
