package io.jumpgate;

import java.util.Arrays;
import java.util.Optional;

/**
 * Codes of errors, which docs/errors.md describes. Made from the Python declarations: {@code ./dev golden
 * --update-golden}.
 */
public enum ErrorCode {
  INVALID_DATAFLOW("invalid_dataflow", false),
  CANNOT_PLACE("cannot_place", false),
  DATA("data", false),
  IO("io", false),
  FILE_CHANGED("file_changed", true),
  MALFORMED("malformed", false),
  SCHEMA("schema", false),
  COMPUTE("compute", false),
  OVERFLOW("overflow", false),
  DIVISION_BY_ZERO("division_by_zero", false),
  INVALID_CAST("invalid_cast", false),
  MEMORY("memory", false),
  CAPACITY("capacity", false),
  BUILD("build", false),
  PROTOCOL("protocol", false),
  UNAUTHENTICATED("unauthenticated", false),
  FORBIDDEN("forbidden", false),
  INSTANCE_FAILED("instance_failed", true),
  UNREACHABLE("unreachable", true),
  DRAINING("draining", true),
  CANCELLED("cancelled", false),
  TIMED_OUT("timed_out", true),
  NOT_FOUND("not_found", false),
  CONFIG("config", false),
  NOT_INSTALLED("not_installed", false),
  INTERNAL("internal", false);

  private final String text;
  private final boolean isUnreachable;

  ErrorCode(String text, boolean isUnreachable) {
    this.text = text;
    this.isUnreachable = isUnreachable;
  }

  /** The name on the wire. */
  public String text() {
    return text;
  }

  /** Return whether trying again, or elsewhere, may succeed. */
  public boolean isUnreachable() {
    return isUnreachable;
  }

  /** The code of that name; empty: a newer service has it. */
  public static Optional<ErrorCode> named(String text) {
    return Arrays.stream(values()).filter(code -> code.text.equals(text)).findFirst();
  }
}
