package io.jumpgate.trino;

import io.jumpgate.Fault;
import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.explain.Coverage;
import io.jumpgate.sql.EngineError;
import io.trino.spi.ErrorCode;
import io.trino.spi.ErrorCodeSupplier;
import io.trino.spi.ErrorType;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;

/** Errors in Trino's words. */
public final class JumpgateErrorCode {
  private JumpgateErrorCode() {}

  /** The error as Trino reports it, with Jumpgate's sentence; where Trino would fail, too, by Trino's own name. */
  static TrinoException explain(JumpgateException e) {
    ErrorCodeSupplier code = switch (Fault.of(e)) {
      case OVERFLOW -> StandardErrorCode.NUMERIC_VALUE_OUT_OF_RANGE;
      case DIVISION_BY_ZERO -> StandardErrorCode.DIVISION_BY_ZERO;
      case INVALID_CAST -> StandardErrorCode.INVALID_CAST_ARGUMENT;
      case COMPUTE -> StandardErrorCode.INVALID_FUNCTION_ARGUMENT;
      default -> code(EngineError.of(e));
    };
    return new TrinoException(code, e.getMessage(), e);
  }

  private static ErrorCodeSupplier code(EngineError error) {
    ErrorType type = switch (error.party()) {
      case USER -> ErrorType.USER_ERROR;
      case OPERATOR -> ErrorType.INSUFFICIENT_RESOURCES;
      case OTHERS -> ErrorType.EXTERNAL;
      case ENGINE -> ErrorType.INTERNAL_ERROR;
    };
    ErrorCode code = new ErrorCode(error.number(), error.text(), type);
    return () -> code;
  }

  static TrinoException readOnly() {
    return new TrinoException(StandardErrorCode.NOT_SUPPORTED, Catalog.READ_ONLY);
  }

  /** What a strict session is told of a result above which something stays. */
  static TrinoException notOffloaded(Coverage coverage) {
    return new TrinoException(code(EngineError.NOT_OFFLOADED), coverage.text().replace("\n", "; "));
  }
}
