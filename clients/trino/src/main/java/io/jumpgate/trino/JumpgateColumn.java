package io.jumpgate.trino;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Unsent;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.type.Type;

/**
 * A column of a handle's result, by its position; {@code type} is encoded, {@code shown} is what Trino
 * plans with. {@code generation} tells it from columns that the handle had before.
 */
public record JumpgateColumn(@JsonProperty("index") int index, @JsonProperty("name") String name,
    @JsonProperty("type") String type, @JsonProperty("shown") Type shown, @JsonProperty("generation") int generation)
    implements ColumnHandle {
  @JsonCreator
  public JumpgateColumn {}

  Unsent.Wanted wanted() {
    return new Unsent.Wanted(index, new Field(name, DataType.decode(type)));
  }

  @Override
  public String toString() {
    return name;
  }
}
