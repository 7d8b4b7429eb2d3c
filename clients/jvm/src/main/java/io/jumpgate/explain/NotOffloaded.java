package io.jumpgate.explain;

/** A reason on its way up to the operator that stays. */
public final class NotOffloaded extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Reason reason;

  public NotOffloaded(Code code, String sentence) {
    this(new Reason(code, sentence));
  }

  public NotOffloaded(Reason reason) {
    super(reason.toString(), null, false, false);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
