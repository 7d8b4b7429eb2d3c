package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorSplit;
import com.facebook.presto.spi.HostAddress;
import com.facebook.presto.spi.NodeProvider;
import com.facebook.presto.spi.schedule.NodeSelectionStrategy;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/** One stream of a result: the worker that gets it receives the whole of it. {@code of}: the table, for people. */
public record JumpgateSplit(@JsonProperty("of") String of) implements ConnectorSplit {
  @JsonCreator
  public JumpgateSplit {}

  @Override
  public NodeSelectionStrategy getNodeSelectionStrategy() {
    return NodeSelectionStrategy.NO_PREFERENCE;
  }

  @Override
  public List<HostAddress> getPreferredNodes(NodeProvider nodes) {
    return List.of();
  }

  @Override
  public Object getInfo() {
    return of;
  }
}
