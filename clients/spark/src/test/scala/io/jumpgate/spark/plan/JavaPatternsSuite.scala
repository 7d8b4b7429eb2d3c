package io.jumpgate.spark.plan

import java.util.regex.Pattern
import org.scalatest.funsuite.AnyFunSuite

/** Patterns as dataflows write them, which Java reads as well: with its flags for their meaning, they match the same texts. */
class JavaPatternsSuite extends AnyFunSuite {
  private val Parts = Seq("a", "b", "c1", "_", " ", "\n", "\r\n", "\r", "\u0085", "ä", "-", ".", "")
  private val Texts = for (a <- Parts; b <- Parts; c <- Parts) yield a + b + c

  test("what is translated matches what it matched") {
    val patterns = Seq(
      "a.c", "^a.*c$", "b$", "\\d+", "\\w-", "(a|b)$", "[^a]b", "\\s", "a{1,2}b", "[a-c]{2}$", "^$", "(?:a|_)1?", "[a\\-.]b", "]", "a\\.b",
      "[\\d_-]", "ä|-b")
    patterns.foreach { pattern =>
      val found = JavaPatterns.translated(pattern).getOrElse(fail(s"$pattern is not translated"))
      val (java, ours) = (Pattern.compile(pattern), Pattern.compile(found.text.replaceAll("\\$$", "\\\\z").replace("$)", "\\z)")))
      Texts.foreach(text => assert(java.matcher(text).find() == ours.matcher(text).find(), s"$pattern as ${found.text} in '$text'"))
    }
  }

  test("what Java has by itself, or what takes long, is not translated") {
    val own = Seq(
      "a\\b", "[^a]$", "\\s$", "(?i)a", "a++", "a*?", "\\p{L}", "[a&&b]", "(a)\\1", "\\Qa", "[a-c-e]", "(?=a)", "a{40}", "(a", "a)", "[a",
      "*a", "^*", "a\\", "\ud83d\ude00", "[b-a]", "a" * 101, ".*" * 20, "a\n")
    own.foreach(pattern => assert(JavaPatterns.translated(pattern).isEmpty, pattern))
  }

  test("a group between parts of one character each is what is left of a match") {
    Seq("([a-c]+)", "a(.*)b", "^(a|b)c", "[^a](b+)-", "\\s(ä|-)", "(a)1", "b([^b])[_-]", "([a]|\\.b)").foreach { pattern =>
      val found = JavaPatterns.extracted(pattern, 1).getOrElse(fail(s"$pattern is not translated"))
      val java = Pattern.compile(pattern)
      Texts.map(java.matcher(_)).filter(_.find()).foreach { m =>
        assert(m.group(1) == m.group.substring(found.before, m.group.length - found.after), pattern)
      }
    }
    Seq("a*(b)", "(a)(b)", "(a)?b", "a|(b)", "(?:a)(b)", "(a)$", "(a){2}", "a").foreach(p => assert(JavaPatterns.extracted(p, 1).isEmpty, p))
    assert(JavaPatterns.extracted("(a)", 2).isEmpty)
    assert(JavaPatterns.extracted("a*(b)", 0).nonEmpty)
  }

  test("a group whose place is certain is what is left of a match behind what comes before it") {
    def taken(text: String, pattern: JavaPattern) = {
      val m = Pattern.compile(pattern.text).matcher(text)
      if (m.find()) m.group else ""
    }
    val patterns = Seq(
      "([ab]+)-(\\w*)" -> 2, "([ab]+)-(\\w*)" -> 1, "a*(b)" -> 1, "(a)(b)" -> 2, "(a?)(b)c?(1)" -> 3, "^([a-c]+)(1?)_" -> 2, "(\\w+)\\.([ab]{1,2})" -> 2,
      "[^-]*-(.)" -> 1)
    patterns.foreach { case (pattern, group) =>
      val found = JavaGroups.extracted(pattern, group).getOrElse(fail(s"$pattern is not taken apart"))
      val java = Pattern.compile(pattern)
      Texts.map(java.matcher(_)).filter(_.find()).foreach { m =>
        val rest = found.before.fold(m.group)(before => m.group.drop(taken(m.group, before).length))
        assert(m.group(group) == taken(rest, found.group), s"$pattern in '${m.group}'")
      }
    }
    Seq("(.*)b(c)" -> 2, "(a*)a(b)" -> 2, "(a|b)(c)" -> 2, "((a)b)" -> 2, "(a)*(b)" -> 2, "(a)" -> 2, "(a*)(b?)([ab])" -> 3, "a" -> 1).foreach {
      case (pattern, group) => assert(JavaGroups.extracted(pattern, group).isEmpty, pattern)
    }
  }
}
