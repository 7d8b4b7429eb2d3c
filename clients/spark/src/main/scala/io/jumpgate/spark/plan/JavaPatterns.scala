package io.jumpgate.spark.plan

/** A pattern of Java's as dataflows write it. `hasEnd`: it has a `$`, by which a match may take the end of the last line along. */
private final case class JavaPattern(text: String, hasEnd: Boolean)

/** A pattern, and how many characters of a match are before and after the group that is wanted. */
private final case class Extracted(pattern: JavaPattern, before: Int, after: Int)

/**
 * Regular expressions of Java's that can be written so that they mean the same to dataflows: literals, classes, groups, alternatives,
 * and greedy repetitions, at most so many that the automaton is small. To Java a point is no end of a line, of which it knows five, and
 * `$` may stand before the last one; `\d`, `\w` and `\s` are ASCII's.
 */
private object JavaPatterns {
  private val LengthMax = 100
  private val ChoicesMax = 24
  private val Ends = "\n\r\u0085\u2028\u2029"
  private val Special = "\\^$.|?*+()[]{}"
  private val Known = Map('d' -> "0-9", 'w' -> "A-Za-z0-9_", 's' -> " \t\n\u000b\f\r")

  /** None: it has other parts, or too many. */
  def translated(pattern: String): Option[JavaPattern] =
    if (pattern.length > LengthMax) None else new Parser(pattern).parsed

  /** A pattern of which a group is wanted: the whole match, or the first group between parts of one character each. */
  def extracted(pattern: String, group: Int): Option[Extracted] =
    translated(pattern).filterNot(_.hasEnd).flatMap { whole =>
      val begin = unescaped(pattern, "(", 0)
      val end = if (begin < 0) -1 else closing(pattern, begin)
      if (group == 0) Some(Extracted(whole, 0, 0))
      else if (group != 1 || end < 0 || pattern.startsWith("(?", begin)) None
      else
        for (before <- width(pattern.substring(0, begin).stripPrefix("^")); after <- width(pattern.substring(end + 1)))
          yield Extracted(whole, before, after)
    }

  /** The parenthesis that closes a group; -1: there is none, or it is repeated. */
  private def closing(pattern: String, begin: Int): Int = {
    var (at, depth) = (begin, 0)
    do {
      at = unescaped(pattern, "()", at)
      if (at >= 0) depth += (if (pattern(at) == '(') 1 else -1)
      if (at >= 0 && depth > 0) at += 1
    } while (at >= 0 && depth > 0)
    if (at + 1 < pattern.length && "*+?{".contains(pattern(at + 1))) -1 else at
  }

  /** Where one of the signs is from there on, and neither escaped nor in a class; -1: nowhere. */
  private def unescaped(pattern: String, signs: String, from: Int): Int = {
    var (at, inClass) = (0, false)
    while (at < pattern.length && !(at >= from && !inClass && signs.contains(pattern(at)))) {
      if (pattern(at) == '\\') at += 1
      else if (pattern(at) == '[') inClass = true
      else if (pattern(at) == ']') inClass = false
      at += 1
    }
    if (at < pattern.length) at else -1
  }

  /** How many characters parts without repetitions and alternatives take; None: they have such, or groups. */
  private def width(parts: String): Option[Int] =
    if (Plain.pattern.matcher(parts).matches) Some(Single.findAllIn(parts).size) else None

  private val One = "\\\\.|\\[(?:[^\\]\\\\]|\\\\.)+\\]|[^\\\\^$|?*+()\\[\\]{}]"
  private val Single = One.r
  private val Plain = s"(?:$One)*".r

  private final class Parser(pattern: String) {
    private val out = new StringBuilder
    private var at, choices = 0
    private var hasEnd, takesEnds = false // takesEnds: an end of a line may be in the middle of a match

    def parsed: Option[JavaPattern] = {
      val isKnown = alternatives() && at == pattern.length && choices <= ChoicesMax && !(hasEnd && takesEnds)
      if (isKnown) Some(JavaPattern(out.toString, hasEnd)) else None
    }

    private def is(c: Char): Boolean = at < pattern.length && pattern(at) == c

    private def take(c: Char): Boolean = {
      val found = is(c)
      if (found) at += 1
      found
    }

    private def alternatives(): Boolean = {
      var isKnown = true
      while (isKnown && at < pattern.length && !is(')'))
        if (take('|')) {
          choices += 1
          out += '|'
        } else isKnown = if (is('^') || is('$')) anchor() else atom() && repetition()
      isKnown
    }

    private def anchor(): Boolean = {
      if (take('^')) out += '^'
      else {
        at += 1
        hasEnd = true
        out ++= s"(?:\r\n|[$Ends])?$$"
      }
      at == pattern.length || !"*+?{".contains(pattern(at))
    }

    private def atom(): Boolean = {
      val c = pattern(at)
      at += 1
      c match {
        case '.' =>
          choices += 1
          out ++= s"[^$Ends]"
          true
        case '(' =>
          out ++= "(?:"
          val isPlain = !take('?') || take(':')
          isPlain && alternatives() && take(')') && closed()
        case '[' =>
          choices += 1
          members()
        case '\\' => escaped()
        case _ => (!Special.contains(c) || c == ']' || c == '}') && literal(c)
      }
    }

    private def closed(): Boolean = {
      out += ')'
      true
    }

    private def literal(c: Char): Boolean = {
      if (c < 128 && !c.isLetterOrDigit && c != ' ' && !"<>".contains(c)) out += '\\'
      out += c
      c >= ' ' && c != 127 && !Ends.contains(c) && !c.isSurrogate
    }

    private def escaped(): Boolean = at < pattern.length && {
      val c = pattern(at)
      at += 1
      Known.get(c) match {
        case Some(members) =>
          if (c == 's') takesEnds = true
          choices += 1
          out ++= s"[$members]"
          true
        case None => !c.isLetterOrDigit && c < 128 && literal(c)
      }
    }

    /** Of a class: plain characters and ranges of letters or digits. */
    private def members(): Boolean = {
      out += '['
      if (take('^')) {
        takesEnds = true
        out += '^'
      }
      val begin = at
      var isKnown = true
      while (isKnown && at < pattern.length && !is(']')) isKnown = member()
      isKnown && at > begin && take(']') && {
        out += ']'
        true
      }
    }

    private def member(): Boolean = {
      val c = pattern(at)
      at += 1
      c match {
        case '\\' if at < pattern.length && Known.contains(pattern(at)) =>
          if (is('s')) takesEnds = true
          out ++= Known(pattern(at))
          at += 1
          !is('-')
        case '\\' => at < pattern.length && !pattern(at).isLetterOrDigit && pattern(at) < 128 && {
            at += 1
            literal(pattern(at - 1)) && !is('-')
          }
        case '-' => is(']') && literal(c) // a sign by itself
        case '[' | '^' | '&' => false
        case _ => literal(c) && (!is('-') || range(c))
      }
    }

    private def range(low: Char): Boolean = at + 1 < pattern.length && {
      val high = pattern(at + 1)
      def isOf(inside: Char => Boolean) = low < 128 && high < 128 && inside(low) && inside(high) && low <= high
      if (high == ']') true // the sign is the next member
      else {
        at += 2
        out += '-'
        out += high
        isOf(_.isDigit) || isOf(_.isUpper) || isOf(_.isLower)
      }
    }

    private def repetition(): Boolean =
      if (at == pattern.length || !"*+?{".contains(pattern(at))) true
      else {
        val end = if (is('{')) pattern.indexOf('}', at) + 1 else at + 1
        val sign = pattern.substring(at, end.max(at))
        at = end.max(at)
        out ++= sign
        choices += 1
        isCount(sign) && (at == pattern.length || !"*+?{".contains(pattern(at)))
      }

    /** A sign, or counts that are small. */
    private def isCount(sign: String): Boolean = sign match {
      case "*" | "+" | "?" => true
      case JavaPatterns.Counts(low, _, high) =>
        choices += low.toInt.max(Option(high).filter(_.nonEmpty).fold(0)(_.toInt))
        true
      case _ => false
    }
  }

  private val Counts = "\\{([0-9]{1,2})(,([0-9]{0,2}))?\\}".r
}
