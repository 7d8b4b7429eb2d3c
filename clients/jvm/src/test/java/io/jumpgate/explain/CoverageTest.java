package io.jumpgate.explain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jumpgate.explain.Coverage.Stay;
import java.util.List;
import org.junit.jupiter.api.Test;

class CoverageTest {
  private static final Stay PIVOT = new Stay("Pivot", new Reason(Code.OPERATOR, "Pivot is not offloaded"));
  private static final Stay SMALL =
      new Stay("Scan item", new Reason(Code.COST, "0.1 s here, 0.3 s there", "spark.jumpgate.offload=always"));

  @Test
  void whatExplainPrints() {
    Coverage coverage = new Coverage(7, 9, List.of(PIVOT, SMALL, PIVOT));
    assertEquals("""
        7 of 9 operators (77 %) offloaded
        Pivot stays: [operator] Pivot is not offloaded
        Scan item stays: [cost] 0.1 s here, 0.3 s there (setting: spark.jumpgate.offload=always)""", coverage.text());
  }

  @Test
  void partsAddUp() {
    Coverage both = new Coverage(2, 3, List.of(SMALL)).and(new Coverage(1, 1, List.of(SMALL))).and(Coverage.NONE);
    assertEquals(new Coverage(3, 4, List.of(SMALL)), both);
    assertEquals("199 of 200 operators (99 %)", new Coverage(199, 200, List.of()).summary());
    assertEquals("0 of 0 operators (0 %) offloaded", Coverage.NONE.text());
  }

  @Test
  void moreThanThereAre() {
    assertThrows(IllegalArgumentException.class, () -> new Coverage(2, 1, List.of()));
  }
}
