package io.jumpgate;

/** What went wrong, as engines tell errors apart. */
public enum Fault {
  OVERFLOW,
  DIVISION_BY_ZERO,
  INVALID_CAST,
  /** The query or its data: a malformed file. */
  DATA,
  /** Memory, or devices, do not suffice. */
  RESOURCES,
  /** The service, or what it runs on, is away or not set up as its client says. */
  SERVICE,
  INTERNAL;

  public static Fault of(JumpgateException e) {
    return switch (e.code()) {
      case "overflow" -> OVERFLOW;
      case "division_by_zero" -> DIVISION_BY_ZERO;
      case "invalid_cast" -> INVALID_CAST;
      case "data", "malformed", "schema", "compute" -> DATA;
      case JumpgateException.MEMORY, "capacity", "cannot_place" -> RESOURCES;
      case JumpgateException.PROTOCOL, JumpgateException.INVALID_DATAFLOW, "build", "internal" -> INTERNAL;
      default -> SERVICE;
    };
  }
}
