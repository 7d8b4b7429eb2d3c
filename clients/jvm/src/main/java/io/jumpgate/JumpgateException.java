package io.jumpgate;

import java.util.Map;
import java.util.Optional;

/**
 * Every error that Jumpgate, or this library, raises on purpose. {@link #fields} say where (operator, nca, host,
 * instance, stage, column, file …).
 */
public final class JumpgateException extends RuntimeException {
  private static final long serialVersionUID = 2;

  private final String code;
  private final Map<String, String> fields;

  /** An error that came over the wire; a code that is not known here stays what it is. */
  public JumpgateException(String code, String message, Map<String, String> fields) {
    super(message);
    this.code = code;
    this.fields = Map.copyOf(fields);
  }

  public JumpgateException(ErrorCode code, String message, Map<String, String> fields) {
    this(code.text(), message, fields);
  }

  public JumpgateException(ErrorCode code, String message) {
    this(code, message, Map.of());
  }

  /** Stable and machine-readable: {@code cannot_place}, {@code overflow}, {@code unreachable} … */
  public String code() {
    return code;
  }

  /** The code; empty: it is of a newer service, and not known here. */
  public Optional<ErrorCode> known() {
    return ErrorCode.named(code);
  }

  public boolean is(ErrorCode other) {
    return code.equals(other.text());
  }

  /** Where it happened, by the names of what is said. */
  public Map<String, String> fields() {
    return fields;
  }

  /** Whether trying again, or elsewhere, may succeed. */
  public boolean isUnreachable() {
    return known().filter(ErrorCode::isUnreachable).isPresent();
  }
}
