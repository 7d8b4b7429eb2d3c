package io.jumpgate.dataflow;

import java.util.Locale;

/** How a batch's bytes are laid out. */
public enum Layout {
  /** Arrow's buffers one after the other. */
  COLUMNAR,
  /** Tuples of equal size, then their strings. */
  ROW;

  /** As requests and descriptors write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
