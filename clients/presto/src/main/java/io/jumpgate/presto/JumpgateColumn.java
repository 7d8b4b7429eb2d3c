package io.jumpgate.presto;

import com.facebook.presto.spi.ColumnHandle;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;

/** A column by its position in the table's files, or in the result; {@code type} is encoded. */
public record JumpgateColumn(@JsonProperty("index") int index, @JsonProperty("name") String name,
    @JsonProperty("type") String type) implements ColumnHandle {
  @JsonCreator
  public JumpgateColumn {}

  public JumpgateColumn(int index, Field field) {
    this(index, field.name(), field.type().encoded());
  }

  Field field() {
    return new Field(name, DataType.decode(type));
  }

  @Override
  public String toString() {
    return name;
  }
}
