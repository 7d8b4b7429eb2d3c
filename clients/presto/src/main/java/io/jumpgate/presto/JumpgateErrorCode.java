package io.jumpgate.presto;

import com.facebook.presto.common.ErrorCode;
import com.facebook.presto.common.ErrorType;
import com.facebook.presto.spi.ErrorCodeSupplier;
import com.facebook.presto.spi.PrestoException;
import com.facebook.presto.spi.StandardErrorCode;
import io.jumpgate.Fault;
import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.explain.Coverage;
import io.jumpgate.sql.EngineError;

/** Errors in Presto's words. */
public final class JumpgateErrorCode {
  private JumpgateErrorCode() {}

  /** The error as Presto reports it, with Jumpgate's sentence; where Presto would fail, too, by Presto's own name. */
  static PrestoException explain(JumpgateException e) {
    ErrorCodeSupplier code = switch (Fault.of(e)) {
      case OVERFLOW -> StandardErrorCode.NUMERIC_VALUE_OUT_OF_RANGE;
      case DIVISION_BY_ZERO -> StandardErrorCode.DIVISION_BY_ZERO;
      case INVALID_CAST -> StandardErrorCode.INVALID_CAST_ARGUMENT;
      case COMPUTE -> StandardErrorCode.INVALID_FUNCTION_ARGUMENT;
      default -> code(EngineError.of(e));
    };
    return new PrestoException(code, e.getMessage(), e);
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

  static PrestoException readOnly() {
    return new PrestoException(StandardErrorCode.NOT_SUPPORTED, Catalog.READ_ONLY);
  }

  /** What a strict session is told of a plan of which something stays. */
  public static PrestoException notOffloaded(Coverage coverage) {
    return new PrestoException(code(EngineError.NOT_OFFLOADED), coverage.text().replace("\n", "; "));
  }
}
