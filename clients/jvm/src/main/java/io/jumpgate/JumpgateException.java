package io.jumpgate;

import java.util.Map;
import java.util.Set;

/**
 * Every error that Jumpgate, or this library, raises on purpose. The codes are those of jumpgate/errors.py; {@link
 * #fields} say where (operator, nca, host, instance, stage, column, file …).
 */
public final class JumpgateException extends RuntimeException {
  public static final String CANCELLED = "cancelled";
  public static final String CONFIG = "config";
  public static final String INVALID_DATAFLOW = "invalid_dataflow";
  public static final String MEMORY = "memory";
  public static final String PROTOCOL = "protocol";
  public static final String TIMED_OUT = "timed_out";
  public static final String UNREACHABLE = "unreachable";

  private static final Set<String> PASSING = Set.of("file_changed", "instance_failed", UNREACHABLE, TIMED_OUT);
  private static final long serialVersionUID = 1;

  private final String code;
  private final Map<String, String> fields;

  public JumpgateException(String code, String message, Map<String, String> fields) {
    super(message);
    this.code = code;
    this.fields = Map.copyOf(fields);
  }

  public JumpgateException(String code, String message) {
    this(code, message, Map.of());
  }

  /** Stable and machine-readable: {@code cannot_place}, {@code overflow}, {@code unreachable} … */
  public String code() {
    return code;
  }

  /** Where it happened, by the names of what is said. */
  public Map<String, String> fields() {
    return fields;
  }

  /** Whether trying again, or elsewhere, may succeed. */
  public boolean isUnreachable() {
    return PASSING.contains(code);
  }
}
