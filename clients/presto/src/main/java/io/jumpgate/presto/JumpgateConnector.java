package io.jumpgate.presto;

import com.facebook.presto.common.RuntimeStats;
import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.ConnectorPageSource;
import com.facebook.presto.spi.ConnectorPlanOptimizer;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.ConnectorSplit;
import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.facebook.presto.spi.NodeManager;
import com.facebook.presto.spi.SplitContext;
import com.facebook.presto.spi.connector.Connector;
import com.facebook.presto.spi.connector.ConnectorMetadata;
import com.facebook.presto.spi.connector.ConnectorPageSourceProvider;
import com.facebook.presto.spi.connector.ConnectorPlanOptimizerProvider;
import com.facebook.presto.spi.connector.ConnectorSplitManager;
import com.facebook.presto.spi.connector.ConnectorTransactionHandle;
import com.facebook.presto.spi.session.PropertyMetadata;
import com.facebook.presto.spi.transaction.IsolationLevel;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.client.Estimates;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Shares;
import io.jumpgate.presto.plan.Offload;
import io.jumpgate.presto.plan.SessionTime;
import io.jumpgate.presto.plan.Types;
import java.util.List;
import java.util.Set;

/** One catalog of a Presto cluster. */
final class JumpgateConnector implements Connector {
  private final JumpgateClient client;
  private final Catalog catalog;
  private final Statistics statistics;
  private final Shares shares;
  private final Offload offload;
  private final Types types;
  private final String receiverHost;

  JumpgateConnector(
      JumpgateClient client, Catalog catalog, Offload offload, NodeManager nodes, Types types, String receiverHost) {
    this.offload = offload;
    this.types = types;
    this.client = client;
    Estimates estimates = new Estimates(client);
    this.statistics = new Statistics(estimates);
    this.shares = new Shares(client, estimates, () -> nodes.getRequiredWorkerNodes().size());
    this.catalog = catalog;
    this.receiverHost = receiverHost;
  }

  @Override
  public ConnectorTransactionHandle beginTransaction(IsolationLevel level, boolean readOnly) {
    return Transaction.INSTANCE;
  }

  @Override
  public ConnectorMetadata getMetadata(ConnectorTransactionHandle transaction) {
    return new JumpgateMetadata(catalog, statistics, types);
  }

  @Override
  public ConnectorSplitManager getSplitManager() {
    return (transaction, session, layout, context)
               -> new JumpgateSplitSource(
                   ((LayoutHandle) layout).table(), shares, SessionProperties.of(session).splits());
  }

  @Override
  public ConnectorPageSourceProvider getPageSourceProvider() {
    return new ConnectorPageSourceProvider() {
      @Override
      public ConnectorPageSource createPageSource(ConnectorTransactionHandle transaction, ConnectorSession session,
          ConnectorSplit split, ConnectorTableLayoutHandle layout, List<ColumnHandle> columns, SplitContext context,
          RuntimeStats stats) {
        List<JumpgateColumn> wanted = columns.stream().map(c -> (JumpgateColumn) c).toList();
        TableHandle table = ((LayoutHandle) layout).table();
        return JumpgatePageSource.open(client, table.columns(wanted), ((JumpgateSplit) split).share(), receiverHost,
            stats, types, SessionTime.of(session));
      }
    };
  }

  @Override
  public ConnectorPlanOptimizerProvider getConnectorPlanOptimizerProvider() {
    return new ConnectorPlanOptimizerProvider() {
      @Override
      public Set<ConnectorPlanOptimizer> getLogicalPlanOptimizers() {
        return Set.of(offload);
      }

      @Override
      public Set<ConnectorPlanOptimizer> getPhysicalPlanOptimizers() {
        return Set.of();
      }
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
