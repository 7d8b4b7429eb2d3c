package io.jumpgate.dataflow;

/**
 * What the client's engine does where engines differ; jumpgate/dataflow/dialect.py says what each word means. {@code
 * onOverflow}: error, null, wrap; {@code divisionByZero}: error, null, ieee; {@code toInteger}: round, truncate; {@code
 * nan}: largest, ieee.
 */
public record Dialect(String onOverflow, String divisionByZero, String toInteger, String nan) {
  public static final Dialect DEFAULT = new Dialect("error", "error", "round", "largest");

  io.jumpgate.v1.Dialect toProto() {
    return io.jumpgate.v1.Dialect.newBuilder()
        .setOnOverflow(onOverflow)
        .setDivisionByZero(divisionByZero)
        .setToInteger(toInteger)
        .setNan(nan)
        .build();
  }
}
