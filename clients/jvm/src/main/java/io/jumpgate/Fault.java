package io.jumpgate;

/** What went wrong, as engines tell errors apart. */
public enum Fault {
  OVERFLOW,
  DIVISION_BY_ZERO,
  INVALID_CAST,
  /** A function without a value for its arguments. */
  COMPUTE,
  /** The query or its data: a malformed file. */
  DATA,
  /** Memory, or devices, do not suffice. */
  RESOURCES,
  /** The service, or what it runs on, is away or not set up as its client says. */
  SERVICE,
  INTERNAL,
  /** The service is newer than this client, which does not know its error. */
  UNKNOWN;

  public static Fault of(JumpgateException e) {
    return e.known().map(Fault::of).orElse(UNKNOWN);
  }

  /** Without a default: whoever adds an error says here what it is to engines. */
  private static Fault of(ErrorCode code) {
    return switch (code) {
      case OVERFLOW -> OVERFLOW;
      case DIVISION_BY_ZERO -> DIVISION_BY_ZERO;
      case INVALID_CAST -> INVALID_CAST;
      case COMPUTE -> COMPUTE;
      case DATA, MALFORMED, SCHEMA -> DATA;
      case MEMORY, CAPACITY, CANNOT_PLACE -> RESOURCES;
      case PROTOCOL, INVALID_DATAFLOW, BUILD, INTERNAL -> INTERNAL;
      case IO, FILE_CHANGED, NOT_FOUND, CONFIG, NOT_INSTALLED, UNAUTHENTICATED, FORBIDDEN, INSTANCE_FAILED, UNREACHABLE,
          DRAINING, CANCELLED, TIMED_OUT ->
        SERVICE;
    };
  }
}
