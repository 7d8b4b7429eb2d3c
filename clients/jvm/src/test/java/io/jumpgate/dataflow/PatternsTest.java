package io.jumpgate.dataflow;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

final class PatternsTest {
  @Test
  void whatMeansTheSameIsKnown() {
    for (String pattern :
        List.of("", "abc", "a.b", "^a|b", "(ab|cd)*e?", "[a-z0-9]+/", "[^a]b", "\\.x\\\\", "ä", "()")) {
      assertTrue(Patterns.isShared(pattern), pattern);
    }
  }

  @Test
  void whatMayMeanSomethingElseIsNot() {
    for (String pattern :
        List.of("a$", "a^", "^*", "^^", "\\d", "\\", "a*+", "a*?", "a{2}", "a{", "(?i)a", "(?:a)", "(a", "a)", "[",
            "[]", "[^]", "[a", "[a-]", "[z-a]", "[ä]", "[\\d]", "[[:alpha:]]", "[a&&b]", "*", "|*", "(*)", "].")) {
      assertFalse(Patterns.isShared(pattern), pattern);
    }
  }

  @Test
  void whatMayBeALargeAutomatonIsNot() {
    assertTrue(Patterns.isShared("a......"));
    assertFalse(Patterns.isShared("a......."));
    assertFalse(Patterns.isShared("a".repeat(61)));
  }
}
