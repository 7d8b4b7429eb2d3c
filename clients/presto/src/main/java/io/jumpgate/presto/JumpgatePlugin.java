package io.jumpgate.presto;

import com.facebook.presto.spi.Plugin;
import com.facebook.presto.spi.connector.ConnectorFactory;
import java.util.List;

/** What Presto finds in the plugin folder. */
public final class JumpgatePlugin implements Plugin {
  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    return List.of(new JumpgateConnectorFactory());
  }
}
