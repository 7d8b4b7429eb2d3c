package io.jumpgate.dataflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jumpgate.dataflow.Unsent.Wanted;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A request that is ended elsewhere is the one that is made at once. */
class UnsentTest {
  private static final List<Field> FIELDS = List.of(new Field("a", DataType.INT64), new Field("b", DataType.STRING));
  private static final Operator READ =
      Operator.read(List.of("/a.parquet"), "parquet", FIELDS, List.of(0, 1), Map.of(), Optional.empty());
  private static final List<String> PLACE = List.of("127.0.0.1:1");

  @Test
  void anEndThatIsAddedLater() {
    Operator whole = READ.project(List.of(READ.column(1), READ.column(0)), List.of("b", "a"));
    Unsent sent = Unsent.parse(Unsent.of(READ, Dialect.DEFAULT).text());
    assertEquals(whole.send(PLACE, Partitioning.SINGLE, Layout.COLUMNAR).request(Dialect.DEFAULT),
        sent.select(List.of(new Wanted(1, FIELDS.get(1)), new Wanted(0, FIELDS.get(0))))
            .send(PLACE, Partitioning.SINGLE, Layout.COLUMNAR));
  }

  @Test
  void whatIsNoRequest() {
    assertThrows(IllegalArgumentException.class, () -> Unsent.parse("????"));
    assertThrows(IllegalArgumentException.class, () -> Unsent.parse("/w=="));
  }
}
