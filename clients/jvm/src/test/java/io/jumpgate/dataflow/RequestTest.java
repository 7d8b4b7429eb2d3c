package io.jumpgate.dataflow;

import static io.jumpgate.dataflow.DataType.BINARY;
import static io.jumpgate.dataflow.DataType.BOOL;
import static io.jumpgate.dataflow.DataType.DATE;
import static io.jumpgate.dataflow.DataType.FLOAT64;
import static io.jumpgate.dataflow.DataType.INT32;
import static io.jumpgate.dataflow.DataType.INT64;
import static io.jumpgate.dataflow.DataType.STRING;
import static io.jumpgate.dataflow.DataType.TIME;
import static io.jumpgate.dataflow.DataType.TIMESTAMP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.util.JsonFormat;
import io.jumpgate.dataflow.Expression.SortKey;
import io.jumpgate.dataflow.Operator.JoinType;
import io.jumpgate.dataflow.Operator.Phase;
import io.jumpgate.v1.Dataflow;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Requests are those of tests/golden/requests, entry by entry, so that every type that is computed here is the
 * service's.
 */
class RequestTest {
  private static final Path FOLDER = Path.of("../../tests/golden/requests");

  private static void assertGolden(String name, Dataflow made) throws IOException {
    Dataflow.Builder golden = Dataflow.newBuilder();
    JsonFormat.parser().merge(Files.readString(FOLDER.resolve(name)), golden);
    assertEquals(golden.build(), made);
  }

  private static final List<Field> ITEM = List.of(new Field("id", INT32.withNullable(false)),
      new Field("price", DataType.decimal(7, 2)), new Field("day", DATE), new Field("name", STRING));

  private static Operator select(Operator input, int... columns) {
    return input.project(IntStream.of(columns).mapToObj(input::column).toList(), List.of("id", "price", "day", "name"));
  }

  @Test
  void operators() throws IOException {
    List<Integer> all = List.of(0, 1, 2, 3);
    Operator left =
        Operator.read(List.of("/data/item.csv"), "csv", ITEM, all, Map.of("delimiter", "|"), Optional.empty());
    Expression id = left.column(0);
    Expression name = left.column(3);
    Expression wanted = ScalarFunction.GT.of(id, Expression.integer(7, INT32));
    Operator first =
        Operator.read(List.of("/a", "/b"), "parquet", ITEM, all, Map.of(), Optional.of(wanted)).filter(wanted);
    Expression residual = ScalarFunction.NE.of(name, Expression.column(7, first.pairedWith(left)));
    Operator inner = first.join(left, JoinType.INNER, List.of(first.column(0)), List.of(id), Optional.of(residual));
    Operator kept = select(inner, 0, 1, 6, 3);
    Operator outer =
        kept.join(left, JoinType.FULL, List.of(kept.column(0), kept.column(3)), List.of(id, name), Optional.empty());
    Operator some = select(outer, 0, 1, 2, 3);
    for (JoinType type : List.of(JoinType.LEFT, JoinType.SEMI, JoinType.ANTI, JoinType.MARK)) {
      some = select(some.join(left, type, List.of(some.column(0)), List.of(id), Optional.empty()), 0, 1, 2, 3);
    }
    Operator both = Operator.unionAll(List.of(some, left, some));
    Expression amount = both.column(1);
    List<Measure> measures = List.of(new Measure(MeasureFunction.COUNT_STAR, List.of(), "n"),
        new Measure(MeasureFunction.SUM, List.of(amount), "total"),
        new Measure(MeasureFunction.AVG, List.of(amount), "mean"),
        new Measure(MeasureFunction.MIN, List.of(both.column(2)), "first"),
        new Measure(MeasureFunction.STDDEV, List.of(amount), "spread"));
    Operator spread = both.aggregate(List.of(both.column(3)), List.of("name"), measures, Phase.PARTIAL)
                          .shuffle(Partitioning.hash(List.of(0), 4));
    Operator last = spread.aggregate(List.of(spread.column(0)), List.of("name"), measures, Phase.FINAL);
    Measure listed = new Measure(MeasureFunction.STRING_AGG, List.of(last.column(0), Expression.string(", ")), "names",
        List.of(new SortKey(last.column(1), true, false)));
    Operator whole = last.aggregate(List.of(last.column(1)), List.of("n"),
        List.of(listed, new Measure(MeasureFunction.COUNT, List.of(last.column(3)), "c")), Phase.FULL);
    Operator window = whole.limit(1000, 10).distinct().window(List.of(whole.column(1)),
        List.of(new SortKey(whole.column(0), false, true)),
        List.of(new Operator.WindowCall(WindowFunction.RANK, List.of(), "rank"),
            new Operator.WindowCall(WindowFunction.SUM, List.of(whole.column(0)), "before")),
        new Operator.WindowFrame("rows", OptionalLong.empty(), OptionalLong.of(-1)));
    Operator top = window.sort(List.of(new SortKey(window.column(3), false, false)))
                       .topN(List.of(new SortKey(window.column(4), true, false)), 100, 5);
    Operator root = top.send(List.of("h1:1", "h2:2"), Partitioning.murmur3(List.of(0, 1), 2), Layout.ROW);
    assertGolden("operators.json",
        root.request(new Dialect(
            Dialect.OnOverflow.NULL, Dialect.DivisionByZero.IEEE, Dialect.ToInteger.TRUNCATE, Dialect.Nan.IEEE)));
    assertEquals("send", root.kind());
    assertEquals(List.of(top), root.inputs());
  }

  @Test
  void expressions() throws IOException {
    List<String> types = List.of("bool", "int8", "int16", "int64", "float32", "binary", "time", "timestamp",
        "timestamp_ns", "timestamptz(UTC)", "timestamptz_ns(Europe/Berlin)", "duration(ms)", "decimal(38,10)");
    List<Field> schema = new ArrayList<>();
    types.forEach(type -> schema.add(new Field("c" + schema.size(), DataType.parse(type + "?"))));
    schema.add(new Field("person", DataType.struct(List.of(new Field("name", STRING), new Field("age", INT32)))));
    schema.add(new Field("tags", DataType.list(STRING)));
    schema.add(new Field("counts", DataType.map(STRING, INT64)));
    schema.add(new Field("odd", DataType.opaque("union<int, string>")));
    List<Integer> read = IntStream.range(0, 16).boxed().toList();
    Operator table = Operator.read(List.of("/t"), "orc", schema, read, Map.of(), Optional.empty());
    Expression flag = table.column(0);
    Expression small = table.column(1);
    Expression wide = table.column(3);
    Expression data = table.column(5);
    Expression age = Expression.member(table.column(13), 1);
    DataType certain = INT64.withNullable(false);
    Expression known = ScalarFunction.IS_NOT_NULL.of(age);
    List<Expression> shown = List.of(ScalarFunction.AND.of(flag, ScalarFunction.NOT.of(flag)),
        ScalarFunction.OR.of(flag, ScalarFunction.IS_NULL.of(data)), known,
        Expression.in(wide, List.of(Expression.integer(1, INT64), Expression.nullOf(INT64))),
        Expression.in(Expression.integer(5, INT64), List.of(Expression.integer(5, INT64))),
        Expression.cast(small, INT64), Expression.tryCast(wide, FLOAT64),
        Expression.tryCast(Expression.integer(300, INT64), DataType.INT8),
        Expression.tryCast(Expression.bool(true), INT64),
        Expression.tryCast(Expression.integer(1, INT64), DataType.decimal(19, 0)),
        Expression.tryCast(Expression.integer(1, INT64), DataType.decimal(18, 0)),
        ScalarFunction.ADD.of(wide, Expression.integer(-3, INT64)),
        Expression.caseWhen(List.of(flag, wide, known, Expression.integer(1, certain)), Expression.nullOf(INT64)),
        Expression.caseWhen(List.of(flag, Expression.string("a")), Expression.string("é")),
        Expression.floating(0.5, FLOAT64), Expression.binary(new byte[] {0, -1}),
        Expression.decimal(new BigDecimal("-12.5"), 7, 2), Expression.date(10_958),
        Expression.moment(1_000_000, TIMESTAMP), Expression.moment(1_000_000, TIME),
        Expression.integer(86_400_000, DataType.duration("ms")), age, table.column(14), table.column(15));
    List<String> names = IntStream.range(0, shown.size()).mapToObj(i -> "x" + i).toList();
    assertGolden("expressions.json", table.project(shown, names).request(Dialect.DEFAULT));
  }

  @Test
  void sharedPartsAreWrittenOnce() {
    Operator table = Operator.read(List.of("/t"), "csv", ITEM, List.of(0), Map.of(), Optional.empty());
    Expression id = table.column(0);
    for (int i = 0; i < 40; i++) { // 2^40 parts, were they written one by one
      id = ScalarFunction.ADD.of(id, id);
      table = Operator.unionAll(List.of(table, table));
    }
    Dataflow request = table.filter(ScalarFunction.IS_NULL.of(id)).request(Dialect.DEFAULT);
    assertEquals(42, request.getExpressionsCount());
    assertEquals(42, request.getOperatorsCount());
  }

  @Test
  void parametersHaveTheirValuesWhenARequestIsWritten() {
    Operator table = Operator.read(List.of("/t"), "csv", ITEM, List.of(0), Map.of(), Optional.empty());
    Operator wanted = table.filter(ScalarFunction.GT.of(table.column(0), Expression.parameter("least", INT32)));
    Dataflow request = wanted.request(Dialect.DEFAULT, key -> Expression.integer(key.equals("least") ? 7 : 0, INT32));
    assertEquals(7, request.getExpressions(1).getLiteral().getInteger());
    assertEquals(request.getExpressions(1).getType(), wanted.request(Dialect.DEFAULT).getExpressions(1).getType());
    assertEquals(0, wanted.request(Dialect.DEFAULT).getExpressions(1).getLiteral().getInteger());
  }

  @Test
  void typesThatAreNone() {
    assertThrows(IllegalArgumentException.class, () -> DataType.decimal(39, 0));
    assertThrows(IllegalArgumentException.class, () -> DataType.decimal(3, 4));
    assertThrows(IllegalArgumentException.class, () -> DataType.timestamptz("a b"));
    assertThrows(IllegalArgumentException.class, () -> DataType.duration("h"));
    for (String text : List.of("", "?", "int32??", "decimal", "decimal(7)", "decimal(7,2", "int64(1)", "timestamptz",
             "list", "list<int8, int8>", "map<int8>", "struct<a>", "set<int8>")) {
      assertThrows(IllegalArgumentException.class, () -> DataType.parse(text), text);
    }
    assertThrows(ArithmeticException.class, () -> Expression.decimal(new BigDecimal("0.125"), 7, 2));
    assertThrows(IllegalArgumentException.class,
        () -> new Measure(MeasureFunction.MEDIAN, List.of(Expression.nullOf(INT64)), "m").states());
  }

  @Test
  void namesOfTypes() {
    DataType nested = DataType.map(STRING, DataType.list(DataType.struct(List.of(new Field("a", BINARY)))));
    assertEquals("map<string, list<struct<a binary>>>?", nested.text());
    assertEquals(nested, DataType.parse(nested.text()));
    assertEquals(DataType.struct(List.of(new Field("p", DataType.decimal(7, 2)), new Field("l", DataType.list(INT64)))),
        DataType.parse("struct<p decimal(7, 2), l list<int64?>>?"));
    DataType odd = DataType.struct(List.of(new Field("a, b<", DataType.timestamptz("Europe/Berlin"))));
    assertEquals(odd, DataType.decode(odd.encoded()));
    assertEquals(BINARY, nested.physical());
    assertEquals(BOOL, DataType.fromProto(BOOL.toProto()));
    assertEquals(nested, DataType.fromProto(nested.toProto()));
  }
}
