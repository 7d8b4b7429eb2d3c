package io.jumpgate.dataflow;

import java.util.Locale;

/**
 * The choices of an engine where engines differ; docs/functions.md lists them, and jumpgate/dataflow/dialect.py
 * defines each. Made from the Python declarations: {@code ./dev golden --update-golden}.
 */
public record Dialect(Dialect.OnOverflow onOverflow, Dialect.DivisionByZero divisionByZero, Dialect.ToInteger toInteger,
    Dialect.Nan nan) {
  public enum OnOverflow { ERROR, NULL, WRAP }

  public enum DivisionByZero { ERROR, NULL, IEEE }

  public enum ToInteger { ROUND, TRUNCATE }

  public enum Nan { LARGEST, IEEE }

  public static final Dialect DEFAULT =
      new Dialect(OnOverflow.ERROR, DivisionByZero.ERROR, ToInteger.ROUND, Nan.LARGEST);

  io.jumpgate.v1.Dialect toProto() {
    return io.jumpgate.v1.Dialect.newBuilder()
        .setOnOverflow(text(onOverflow))
        .setDivisionByZero(text(divisionByZero))
        .setToInteger(text(toInteger))
        .setNan(text(nan))
        .build();
  }

  private static String text(Enum<?> choice) {
    return choice.name().toLowerCase(Locale.ROOT);
  }
}
