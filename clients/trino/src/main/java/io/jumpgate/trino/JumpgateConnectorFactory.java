package io.jumpgate.trino;

import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * {@code connector.name=jumpgate}. Settings: {@code jumpgate.service} (host:port), {@code jumpgate.catalog} (a catalog
 * file), {@code jumpgate.receiver-host} (the address at which producers reach this worker; 127.0.0.1 without).
 */
final class JumpgateConnectorFactory implements ConnectorFactory {
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  @Override
  public String getName() {
    return "jumpgate";
  }

  @Override
  public Connector create(String catalogName, Map<String, String> config, ConnectorContext context) {
    Path file = Path.of(required(config, "jumpgate.catalog"));
    Catalog catalog = Catalog.load(file, type -> Types.trino(type).isPresent());
    JumpgateClient client = JumpgateClient.connect(required(config, "jumpgate.service"), TIMEOUT);
    return new JumpgateConnector(client, catalog, config.getOrDefault("jumpgate.receiver-host", "127.0.0.1"));
  }

  private static String required(Map<String, String> config, String name) {
    String value = config.get(name);
    if (value == null) {
      throw new JumpgateException(JumpgateException.CONFIG, "the catalog's properties lack " + name);
    }
    return value;
  }
}
