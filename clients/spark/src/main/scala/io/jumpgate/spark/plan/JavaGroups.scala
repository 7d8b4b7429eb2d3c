package io.jumpgate.spark.plan

import java.util.regex.Pattern
import scala.annotation.tailrec

/** A pattern, and those of what a match has before the group that is wanted, if anything, and of the group itself. */
private final case class Grouped(whole: JavaPattern, before: Option[JavaPattern], group: JavaPattern)

/**
 * Groups of Java's patterns whose place in a match follows from its first characters on: what is repeated never takes a character that
 * could begin what comes after it.
 */
private object JavaGroups {
  private val One = "\\\\.|\\[(?:[^\\]\\\\]|\\\\.)+\\]|[^\\\\^$|?*+()\\[\\]{}]"
  private val Part = s"($One)([*+?]|\\{([0-9]{1,2})(,[0-9]{0,2})?\\})?".r
  private val Signs = "*+?{"

  /** Characters that stand for all others: classes have no ranges beyond ASCII. */
  private val Others = "\u0085\u2028\u2029\u00ff\u4e00"

  /** One character, or a repetition of it; `group`: that it is in, or 0. */
  private final case class Element(text: String, one: String, varies: Boolean, mayBeEmpty: Boolean, group: Int)

  /** None: the group is not found so, or is in another one, or repeated. */
  def extracted(pattern: String, group: Int): Option[Grouped] =
    for {
      whole <- JavaPatterns.translated(pattern) if !whole.hasEnd && group > 0
      elements <- elements(pattern.stripPrefix("^"), 0, 0, Vector.empty) if isCertain(elements, pattern)
      begin = elements.indexWhere(_.group == group) if begin >= 0
      own <- anchored(elements.filter(_.group == group))
      before = elements.take(begin)
      known = anchored(before) if before.isEmpty || known.nonEmpty
    } yield Grouped(whole, if (before.isEmpty) None else known, own)

  private def anchored(elements: Seq[Element]): Option[JavaPattern] = JavaPatterns.translated(elements.map(_.text).mkString("^", "", ""))

  /** `in`: the group that is open, or 0; `known`: how many there are so far. */
  @tailrec private def elements(rest: String, in: Int, known: Int, found: Vector[Element]): Option[Vector[Element]] =
    if (rest.isEmpty) if (in == 0) Some(found) else None
    else if (rest.startsWith("(")) if (in > 0 || rest.startsWith("(?")) None else elements(rest.drop(1), known + 1, known + 1, found)
    else if (rest.startsWith(")")) {
      val isRepeated = rest.length > 1 && Signs.contains(rest(1))
      if (in == 0 || isRepeated) None else elements(rest.drop(1), 0, known, found)
    } else
      Part.findPrefixMatchOf(rest) match {
        case Some(m) =>
          val sign = Option(m.group(2)).getOrElse("")
          val varies = sign.nonEmpty && (Signs.init.contains(sign) || m.group(4) != null)
          val mayBeEmpty = sign == "*" || sign == "?" || Option(m.group(3)).exists(_.toInt == 0)
          elements(rest.drop(m.end), in, known, found :+ Element(m.matched, m.group(1), varies, mayBeEmpty, in))
        case None => None
      }

  private def isCertain(elements: Seq[Element], pattern: String): Boolean = {
    val signs = ((0 until 128).map(_.toChar) ++ pattern ++ Others).map(_.toString)
    val taken = elements.map { e =>
      val matches = Pattern.compile(e.one).asMatchPredicate()
      signs.filter(matches.test(_)).toSet
    }
    elements.indices.filter(elements(_).varies).forall { i =>
      val after = elements.indices.drop(i + 1)
      val last = after.indexWhere(!elements(_).mayBeEmpty)
      (if (last < 0) after else after.take(last + 1)).forall(j => (taken(i) & taken(j)).isEmpty)
    }
  }
}
