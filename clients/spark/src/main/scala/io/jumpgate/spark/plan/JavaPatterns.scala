package io.jumpgate.spark.plan

/** A pattern of Java's as dataflows write it. `hasEnd`: it has a `$`, by which a match may take the end of the last line along. */
private final case class JavaPattern(text: String, hasEnd: Boolean)

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
