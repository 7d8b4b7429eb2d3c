package io.jumpgate.dataflow;

/** A column: of a file, an operator's output, or an edge. Names may repeat. */
public record Field(String name, DataType type) {
  public io.jumpgate.v1.Field toProto() {
    return io.jumpgate.v1.Field.newBuilder().setName(name).setType(type.toProto()).build();
  }

  public static Field fromProto(io.jumpgate.v1.Field field) {
    return new Field(field.getName(), DataType.fromProto(field.getType()));
  }
}
