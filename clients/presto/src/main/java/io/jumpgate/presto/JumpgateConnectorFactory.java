package io.jumpgate.presto;

import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.ConnectorHandleResolver;
import com.facebook.presto.spi.ConnectorSplit;
import com.facebook.presto.spi.ConnectorTableHandle;
import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.facebook.presto.spi.connector.Connector;
import com.facebook.presto.spi.connector.ConnectorContext;
import com.facebook.presto.spi.connector.ConnectorFactory;
import com.facebook.presto.spi.connector.ConnectorTransactionHandle;
import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.presto.plan.Offload;
import io.jumpgate.presto.plan.Types;
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
    JumpgateClient client = JumpgateClient.connect(required(config, "jumpgate.service"), TIMEOUT);
    Catalog catalog =
        Catalog.load(Path.of(required(config, "jumpgate.catalog")), type -> Types.presto(type).isPresent());
    String receiverHost = config.getOrDefault("jumpgate.receiver-host", "127.0.0.1");
    Offload offload = new Offload(catalog, context.getFunctionMetadataManager(), context.getRowExpressionService());
    return new JumpgateConnector(client, catalog, offload, receiverHost);
  }

  private static String required(Map<String, String> config, String name) {
    String value = config.get(name);
    if (value == null) {
      throw new JumpgateException(JumpgateException.CONFIG, "the catalog's properties lack " + name);
    }
    return value;
  }

  @Override
  public ConnectorHandleResolver getHandleResolver() {
    return new ConnectorHandleResolver() {
      @Override
      public Class<? extends ConnectorTableHandle> getTableHandleClass() {
        return TableHandle.class;
      }

      @Override
      public Class<? extends ConnectorTableLayoutHandle> getTableLayoutHandleClass() {
        return LayoutHandle.class;
      }

      @Override
      public Class<? extends ColumnHandle> getColumnHandleClass() {
        return JumpgateColumn.class;
      }

      @Override
      public Class<? extends ConnectorSplit> getSplitClass() {
        return JumpgateSplit.class;
      }

      @Override
      public Class<? extends ConnectorTransactionHandle> getTransactionHandleClass() {
        return Transaction.class;
      }
    };
  }
}
