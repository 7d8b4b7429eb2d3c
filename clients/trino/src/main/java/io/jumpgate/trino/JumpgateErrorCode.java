package io.jumpgate.trino;

import io.jumpgate.Fault;
import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.explain.Coverage;
import io.trino.spi.ErrorCode;
import io.trino.spi.ErrorCodeSupplier;
import io.trino.spi.ErrorType;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;

/** Who can do something about an error: Trino shows the name and counts errors by type. */
public enum JumpgateErrorCode implements ErrorCodeSupplier {
  /** Of the query or its data: a malformed file. */
  JUMPGATE_DATA(0, ErrorType.USER_ERROR),
  JUMPGATE_RESOURCES(1, ErrorType.INSUFFICIENT_RESOURCES),
  /** The service, or what it runs on, is away or not set up as this catalog says. */
  JUMPGATE_SERVICE(2, ErrorType.EXTERNAL),
  JUMPGATE_INTERNAL(3, ErrorType.INTERNAL_ERROR),
  /** A strict session, and something stays with Trino. */
  JUMPGATE_NOT_OFFLOADED(4, ErrorType.USER_ERROR);

  private static final int FIRST = 0x4A47_0000;

  private final ErrorCode code;

  JumpgateErrorCode(int number, ErrorType type) {
    code = new ErrorCode(FIRST + number, name(), type);
  }

  @Override
  public ErrorCode toErrorCode() {
    return code;
  }

  /** The error as Trino reports it, with Jumpgate's sentence; where Trino would fail, too, by Trino's own name. */
  static TrinoException explain(JumpgateException e) {
    ErrorCodeSupplier code = switch (Fault.of(e)) {
      case OVERFLOW -> StandardErrorCode.NUMERIC_VALUE_OUT_OF_RANGE;
      case DIVISION_BY_ZERO -> StandardErrorCode.DIVISION_BY_ZERO;
      case INVALID_CAST -> StandardErrorCode.INVALID_CAST_ARGUMENT;
      case DATA -> JUMPGATE_DATA;
      case RESOURCES -> JUMPGATE_RESOURCES;
      case SERVICE -> JUMPGATE_SERVICE;
      case INTERNAL -> JUMPGATE_INTERNAL;
    };
    return new TrinoException(code, e.getMessage(), e);
  }

  static TrinoException readOnly() {
    return new TrinoException(StandardErrorCode.NOT_SUPPORTED, Catalog.READ_ONLY);
  }

  /** What a strict session is told of a result above which something stays. */
  static TrinoException notOffloaded(Coverage coverage) {
    return new TrinoException(JUMPGATE_NOT_OFFLOADED, coverage.text().replace("\n", "; "));
  }
}
