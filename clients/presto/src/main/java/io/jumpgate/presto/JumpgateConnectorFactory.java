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
import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Looks;
import io.jumpgate.presto.plan.Offload;
import io.jumpgate.presto.plan.Types;
import io.jumpgate.settings.CatalogSetting;
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
    JumpgateClient client = JumpgateClient.connect(CatalogSetting.SERVICE.of(config), TIMEOUT);
    Path file = Path.of(CatalogSetting.CATALOG.of(config));
    Types types = new Types(context.getTypeManager());
    Catalog catalog = Catalog.load(file, new Looks(client), types);
    String receiverHost = CatalogSetting.RECEIVER_HOST.of(config);
    Offload offload = new Offload(context.getFunctionMetadataManager(), context.getRowExpressionService());
    return new JumpgateConnector(client, catalog, offload, context.getNodeManager(), types, receiverHost);
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
