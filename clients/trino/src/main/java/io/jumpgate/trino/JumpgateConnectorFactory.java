package io.jumpgate.trino;

import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Looks;
import io.jumpgate.settings.CatalogSetting;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** {@code connector.name=jumpgate}. */
final class JumpgateConnectorFactory implements ConnectorFactory {
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  @Override
  public String getName() {
    return "jumpgate";
  }

  @Override
  public Connector create(String catalogName, Map<String, String> config, ConnectorContext context) {
    CatalogSetting.check(config);
    Path file = Path.of(CatalogSetting.CATALOG.of(config));
    JumpgateClient client = JumpgateClient.connect(CatalogSetting.SERVICE.of(config), TIMEOUT);
    Types types = new Types(context.getTypeManager().getTypeOperators());
    Catalog catalog = Catalog.load(file, new Looks(client), types);
    return new JumpgateConnector(
        client, catalog, types, context.getNodeManager(), CatalogSetting.RECEIVER_HOST.of(config));
  }
}
