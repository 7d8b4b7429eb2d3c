package io.jumpgate.explain;

import java.util.Locale;

/** Why an operator stays with its engine, for programs: the same words in every engine. */
public enum Code {
  /** A measure, or how it is asked for. */
  AGGREGATE,
  /** A conversion that the engine does in its own way. */
  CAST,
  /** A column that the files, or the input, do not have. */
  COLUMN,
  /** It is expected to be faster where it is. */
  COST,
  /** Digits or scale that the engine computes in its own way. */
  DECIMAL,
  /** What the engine does on overflow, division or NaN is not to be had. */
  DIALECT,
  /** A setting says so. */
  DISABLED,
  /** A function, or what it is given. */
  EXPRESSION,
  /** A file format. */
  FORMAT,
  /** A type of join, or its condition. */
  JOIN,
  /** A limit that is not a number. */
  LIMIT,
  /** Another value each time it is computed. */
  NONDETERMINISTIC,
  /** A kind of operator. */
  OPERATOR,
  /** How a table is read. */
  OPTION,
  /** The service refused it, or does not answer. */
  SERVICE,
  /** Where a table's rows are. */
  SOURCE,
  /** A data type. */
  TYPE,
  /** A window function, or its frame. */
  WINDOW;

  /** As it is printed and recorded. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
