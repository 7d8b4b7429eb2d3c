package io.jumpgate.dataflow;

/**
 * Regular expressions that mean the same to Joni, which Presto and Trino use, and to dataflows: of whether there is a
 * match. These are letters, digits and other text, {@code .}, classes of plain letters and digits, groups, alternatives
 * and {@code * + ?}; at most so many that any of them is small as an automaton.
 */
public final class Patterns {
  private static final int LENGTH_MAX = 60;
  private static final int CHOICES_MAX = 6;
  private static final String SPECIAL = "\\^$.|?*+()[]{}";

  private final String pattern;
  private int at;
  private int choices;

  private Patterns(String pattern) {
    this.pattern = pattern;
  }

  /** Whether it is one of these. */
  public static boolean isShared(String pattern) {
    Patterns parser = new Patterns(pattern);
    parser.next('^');
    return pattern.length() <= LENGTH_MAX && parser.alternatives() && parser.at == pattern.length()
        && parser.choices <= CHOICES_MAX;
  }

  /** Whether matches are at the same places, too: there are no groups, of which repetitions may match nothing. */
  public static boolean isPlaced(String pattern) {
    return isShared(pattern) && !pattern.contains("(");
  }

  /** Whether one of these has a match in no text. */
  public static boolean matchesNothing(String pattern) {
    return java.util.regex.Pattern.compile(pattern).matcher("").find();
  }

  private boolean alternatives() {
    do {
      while (at < pattern.length() && "|)".indexOf(pattern.charAt(at)) < 0) {
        if (!repeated()) {
          return false;
        }
      }
    } while (choice("|"));
    return true;
  }

  /** An atom, once or with one sign that says how often. */
  private boolean repeated() {
    if (!atom()) {
      return false;
    }
    choice("*+?");
    return at == pattern.length() || "*+?{".indexOf(pattern.charAt(at)) < 0;
  }

  private boolean choice(String signs) {
    boolean is = at < pattern.length() && signs.indexOf(pattern.charAt(at)) >= 0;
    at += is ? 1 : 0;
    choices += is ? 1 : 0;
    return is;
  }

  private boolean atom() {
    if (choice(".")) {
      return true;
    }
    char first = pattern.charAt(at++);
    if (first == '(') {
      return (at == pattern.length() || pattern.charAt(at) != '?') && alternatives() && next(')');
    }
    if (first == '[') {
      choices++;
      return members();
    }
    if (first == '\\') {
      return at < pattern.length() && SPECIAL.indexOf(pattern.charAt(at++)) >= 0;
    }
    return SPECIAL.indexOf(first) < 0;
  }

  /** Of a class: ASCII letters and digits, and ranges of these. */
  private boolean members() {
    next('^');
    int begin = at;
    while (at < pattern.length() && isPlain(pattern.charAt(at))) {
      char low = pattern.charAt(at++);
      if (next('-') && (at == pattern.length() || !isPlain(pattern.charAt(at)) || pattern.charAt(at++) < low)) {
        return false;
      }
    }
    return at > begin && next(']');
  }

  private static boolean isPlain(char c) {
    return c < 128 && Character.isLetterOrDigit(c);
  }

  private boolean next(char c) {
    boolean is = at < pattern.length() && pattern.charAt(at) == c;
    at += is ? 1 : 0;
    return is;
  }
}
