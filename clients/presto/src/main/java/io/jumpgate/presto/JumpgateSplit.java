package io.jumpgate.presto;

import com.facebook.presto.spi.ConnectorSplit;
import com.facebook.presto.spi.HostAddress;
import com.facebook.presto.spi.NodeProvider;
import com.facebook.presto.spi.schedule.NodeSelectionStrategy;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.client.Share;
import java.util.List;

/**
 * One stream of a result: whoever gets it takes its share of the rows. {@code group}: secret of those who do; empty if
 * there is only one. {@code of}: the table, for people.
 */
public record JumpgateSplit(@JsonProperty("of") String of, @JsonProperty("group") String group,
    @JsonProperty("receiver") int receiver) implements ConnectorSplit {
  @JsonCreator
  public JumpgateSplit {}

  Share share() {
    return new Share(group, receiver);
  }

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
