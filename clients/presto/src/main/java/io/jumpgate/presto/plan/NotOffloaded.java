package io.jumpgate.presto.plan;

import io.jumpgate.explain.Code;
import io.jumpgate.explain.Reason;

/** A reason on its way up to the operator that stays. */
final class NotOffloaded extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Reason reason;

  NotOffloaded(Code code, String sentence) {
    this(new Reason(code, sentence));
  }

  NotOffloaded(Reason reason) {
    super(reason.toString(), null, false, false);
    this.reason = reason;
  }

  Reason reason() {
    return reason;
  }
}
