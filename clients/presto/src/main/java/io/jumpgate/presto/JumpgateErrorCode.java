package io.jumpgate.presto;

import com.facebook.presto.common.ErrorCode;
import com.facebook.presto.common.ErrorType;
import com.facebook.presto.spi.ErrorCodeSupplier;
import com.facebook.presto.spi.PrestoException;
import io.jumpgate.JumpgateException;

/** Who can do something about an error: Presto shows the name and counts errors by type. */
enum JumpgateErrorCode implements ErrorCodeSupplier {
  /** Of the query or its data: overflow, division by zero, a malformed file. */
  JUMPGATE_DATA(0, ErrorType.USER_ERROR),
  JUMPGATE_RESOURCES(1, ErrorType.INSUFFICIENT_RESOURCES),
  /** The service, or what it runs on, is away or not set up as this catalog says. */
  JUMPGATE_SERVICE(2, ErrorType.EXTERNAL),
  JUMPGATE_INTERNAL(3, ErrorType.INTERNAL_ERROR);

  private static final int FIRST = 0x4A47_0000;

  private final ErrorCode code;

  JumpgateErrorCode(int number, ErrorType type) {
    code = new ErrorCode(FIRST + number, name(), type);
  }

  @Override
  public ErrorCode toErrorCode() {
    return code;
  }

  /** The error as Presto reports it, with Jumpgate's sentence. */
  static PrestoException explain(JumpgateException e) {
    JumpgateErrorCode code = switch (e.code()) {
      case "data", "malformed", "schema", "compute", "overflow", "division_by_zero", "invalid_cast" -> JUMPGATE_DATA;
      case JumpgateException.MEMORY, "capacity", "cannot_place" -> JUMPGATE_RESOURCES;
      case JumpgateException.PROTOCOL, JumpgateException.INVALID_DATAFLOW, "build", "internal" -> JUMPGATE_INTERNAL;
      default -> JUMPGATE_SERVICE;
    };
    return new PrestoException(code, e.getMessage(), e);
  }
}
