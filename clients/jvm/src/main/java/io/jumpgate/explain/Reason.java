package io.jumpgate.explain;

import java.io.Serializable;

/**
 * Why an operator stays: a code for programs, a sentence for people, and the setting that would change it; null if
 * none would.
 */
public record Reason(Code code, String sentence, String setting) implements Serializable {
  public Reason(Code code, String sentence) {
    this(code, sentence, null);
  }

  @Override
  public String toString() {
    return "[" + code.text() + "] " + sentence + (setting == null ? "" : " (setting: " + setting + ")");
  }
}
