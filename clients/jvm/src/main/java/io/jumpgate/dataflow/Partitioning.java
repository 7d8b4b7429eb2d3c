package io.jumpgate.dataflow;

import java.util.List;

/** How rows are spread over endpoints. {@code keys} are positions in the input's schema. */
public record Partitioning(String kind, List<Integer> keys, int count) {
  public static final Partitioning SINGLE = new Partitioning("single", List.of(), 1);

  public Partitioning {
    keys = List.copyOf(keys);
  }

  public static Partitioning roundRobin(int count) {
    return new Partitioning("round_robin", List.of(), count);
  }

  public static Partitioning hash(List<Integer> keys, int count) {
    return new Partitioning("hash", keys, count);
  }

  /** By Spark's hash, seed 42. */
  public static Partitioning murmur3(List<Integer> keys, int count) {
    return new Partitioning("murmur3", keys, count);
  }

  io.jumpgate.v1.Partitioning toProto() {
    return io.jumpgate.v1.Partitioning.newBuilder().setKind(kind).addAllKeys(keys).setCount(count).build();
  }
}
