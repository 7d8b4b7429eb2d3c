package io.jumpgate.trino;

import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.Estimates;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Shares;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.NodeManager;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorMetadata;
import io.trino.spi.connector.ConnectorPageSourceProvider;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.connector.ConnectorSplitSource;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTransactionHandle;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.DynamicFilter;
import io.trino.spi.session.PropertyMetadata;
import io.trino.spi.transaction.IsolationLevel;
import java.util.List;

/** One catalog of a Trino cluster. */
final class JumpgateConnector implements Connector {
  private final JumpgateClient client;
  private final JumpgateMetadata metadata;
  private final Shares shares;
  private final String receiverHost;

  JumpgateConnector(JumpgateClient client, Catalog catalog, Types types, NodeManager nodes, String receiverHost) {
    this.client = client;
    Estimates estimates = new Estimates(client);
    this.metadata = new JumpgateMetadata(catalog, new Statistics(estimates), types);
    this.shares = new Shares(client, estimates, () -> nodes.getRequiredWorkerNodes().size());
    this.receiverHost = receiverHost;
  }

  @Override
  public ConnectorTransactionHandle beginTransaction(IsolationLevel level, boolean readOnly, boolean autoCommit) {
    return Transaction.INSTANCE;
  }

  @Override
  public ConnectorMetadata getMetadata(ConnectorSession session, ConnectorTransactionHandle transaction) {
    return metadata;
  }

  @Override
  public ConnectorSplitManager getSplitManager() {
    return new ConnectorSplitManager() {
      @Override
      public ConnectorSplitSource getSplits(ConnectorTransactionHandle transaction, ConnectorSession session,
          ConnectorTableHandle table, DynamicFilter dynamicFilter, Constraint constraint) {
        return new JumpgateSplitSource((TableHandle) table, shares, SessionProperties.splits(session),
            SessionProperties.filters(session) ? dynamicFilter : DynamicFilter.EMPTY,
            SessionProperties.dynamicFilteringWaitTimeout(session));
      }
    };
  }

  @Override
  public ConnectorPageSourceProvider getPageSourceProvider() {
    return (transaction, session, split, table, columns, dynamicFilter) -> {
      List<JumpgateColumn> wanted = columns.stream().map(c -> (JumpgateColumn) c).toList();
      return JumpgatePageSource.open(client, (TableHandle) table, wanted, (JumpgateSplit) split, receiverHost);
    };
  }

  @Override
  public List<PropertyMetadata<?>> getSessionProperties() {
    return SessionProperties.all();
  }

  @Override
  public void shutdown() {
    client.close();
  }
}
