package io.jumpgate.dataflow;

import io.jumpgate.dataflow.Expression.SortKey;
import io.jumpgate.v1.Aggregate;
import io.jumpgate.v1.Distinct;
import io.jumpgate.v1.Filter;
import io.jumpgate.v1.Frame;
import io.jumpgate.v1.Join;
import io.jumpgate.v1.Limit;
import io.jumpgate.v1.Project;
import io.jumpgate.v1.Read;
import io.jumpgate.v1.Schema;
import io.jumpgate.v1.Send;
import io.jumpgate.v1.Shuffle;
import io.jumpgate.v1.Sort;
import io.jumpgate.v1.UnionAll;
import io.jumpgate.v1.Unnest;
import io.jumpgate.v1.Window;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An operator of a dataflow with all that is below it, immutable: {@code read(…).filter(…).aggregate(…)}. It knows the
 * columns that it hands on; expressions name them by {@link #column}. One that is used twice is written, and computed,
 * once. {@link #request} makes the message.
 */
public final class Operator {
  /** Writes an operator's own part, with expressions as entries of the request's table. */
  interface Writer {
    void write(RequestWriter request, io.jumpgate.v1.Operator.Builder out);
  }

  /** Types of joins: of the right input only inner, left, right and full joins have columns. */
  public enum JoinType {
    INNER,
    LEFT,
    RIGHT,
    FULL,
    SEMI,
    ANTI,
    /** The left rows, and whether each has a partner: SQL's IN. */
    MARK
  }

  /** Whether an aggregate computes results, or parts of them, or results of parts. */
  public enum Phase { FULL, PARTIAL, FINAL }

  /** A call of a window function: {@code name} is the column that it adds. */
  public record WindowCall(WindowFunction function, List<Expression> arguments, String name) {
    /** The type of that column. */
    public DataType type() {
      return function.type(arguments);
    }
  }

  /**
   * The rows around each row that a window function sees: offsets from it (0: itself, or its peers; negative: before),
   * or unbounded.
   * {@code unit}: rows or range.
   */
  public record WindowFrame(String unit, OptionalLong start, OptionalLong end) {}

  private final String kind;
  private final List<Operator> inputs;
  private final List<Field> schema;
  private final Writer writer;

  private Operator(String kind, List<Operator> inputs, List<Field> schema, Writer writer) {
    this.kind = kind;
    this.inputs = List.copyOf(inputs);
    this.schema = List.copyOf(schema);
    this.writer = writer;
  }

  /** The operator's name in requests and explain. */
  public String kind() {
    return kind;
  }

  public List<Operator> inputs() {
    return inputs;
  }

  /** The columns that it hands on. */
  public List<Field> schema() {
    return schema;
  }

  /** One of them, for an expression over this operator's rows. */
  public Expression column(int index) {
    return Expression.column(index, schema);
  }

  /** The request's message: this operator is its root. */
  public io.jumpgate.v1.Dataflow request(Dialect dialect) {
    return request(dialect, key -> Expression.nullOf(DataType.BOOL));
  }

  /** The same with values of parameters, by their keys: literals. */
  public io.jumpgate.v1.Dataflow request(Dialect dialect, Function<Object, Expression> values) {
    return RequestWriter.write(this, dialect, values);
  }

  void write(RequestWriter request, io.jumpgate.v1.Operator.Builder out) {
    writer.write(request, out);
  }

  /**
   * Files of one format, by absolute paths where the scans run. {@code columns} are positions in {@code fileSchema}, in
   * output order.
   * {@code predicate} is a hint over these: rows that it rejects may be dropped.
   */
  public static Operator read(List<String> files, String format, List<Field> fileSchema, List<Integer> columns,
      Map<String, String> options, Optional<Expression> predicate) {
    return new Operator("read", List.of(), columns.stream().map(fileSchema::get).toList(), (request, out) -> {
      Read.Builder read =
          Read.newBuilder()
              .addAllFiles(files)
              .setFormat(format)
              .setFileSchema(Schema.newBuilder().addAllFields(fileSchema.stream().map(Field::toProto).toList()))
              .addAllColumns(columns)
              .putAllOptions(options);
      predicate.ifPresent(p -> read.setPredicate(request.expression(p)));
      out.setRead(read);
    });
  }

  /** The rows for which {@code predicate} is true, not NULL. */
  public Operator filter(Expression predicate) {
    return unary("filter", schema,
        (request, out) -> out.setFilter(Filter.newBuilder().setPredicate(request.expression(predicate))));
  }

  public Operator project(List<Expression> expressions, List<String> names) {
    return unary("project", fields(names, expressions),
        (request, out)
            -> out.setProject(Project.newBuilder().addAllExpressions(request.all(expressions)).addAllNames(names)));
  }

  /**
   * Joins this, the probe side, with {@code right}, which is built into a table first. {@code leftKeys} are over this
   * operator's columns, {@code rightKeys} over the other's, types equal. No keys: every pair that the residual, over
   * the columns of both, accepts.
   */
  public Operator join(Operator right, JoinType type, List<Expression> leftKeys, List<Expression> rightKeys,
      Optional<Expression> residual) {
    return new Operator("join", List.of(this, right), joined(right, type), (request, out) -> {
      Join.Builder join = Join.newBuilder()
                              .setType(RequestWriter.word(type))
                              .addAllLeftKeys(request.all(leftKeys))
                              .addAllRightKeys(request.all(rightKeys));
      residual.ifPresent(r -> join.setResidual(request.expression(r)));
      out.setJoin(join);
    });
  }

  /** The columns of both sides that a join's residual is over. */
  public List<Field> pairedWith(Operator right) {
    return Stream.concat(schema.stream(), right.schema.stream()).toList();
  }

  /**
   * Groups by {@code keys} (NULL is a group); without keys there is one row, also of no input. The columns are keys,
   * then measures; of a partial one keys, then {@link Measure#states}, which the input of a final one has.
   */
  public Operator aggregate(List<Expression> keys, List<String> keyNames, List<Measure> measures, Phase phase) {
    List<Field> columns = new ArrayList<>(fields(keyNames, keys));
    for (Measure measure : measures) {
      if (phase == Phase.PARTIAL) {
        List<DataType> states = measure.states();
        IntStream.range(0, states.size()).forEach(i -> columns.add(new Field(measure.name() + "." + i, states.get(i))));
      } else {
        columns.add(new Field(measure.name(), measure.type()));
      }
    }
    List<Measure> written = phase == Phase.FINAL ? measures.stream().map(Measure::ofStates).toList() : measures;
    return unary("aggregate", columns,
        (request, out)
            -> out.setAggregate(Aggregate.newBuilder()
                    .addAllMeasures(written.stream().map(request::measure).toList())
                    .addAllKeys(request.all(keys))
                    .addAllKeyNames(keyNames)
                    .setPhase(RequestWriter.word(phase))));
  }

  /**
   * A row for each element of {@code list}: this operator's columns, then the element; a map's is a struct of key and
   * value. A list that is NULL or empty has none; with {@code outer} one, whose element is NULL.
   */
  public Operator unnest(Expression list, String name, boolean outer) {
    List<Field> parts = ((DataType.Nested) list.type()).parts();
    boolean isMap = list.type().kind() == DataType.Kind.MAP;
    List<Field> nullable = parts.stream().map(p -> new Field(p.name(), p.type().withNullable(true))).toList();
    DataType element = isMap ? DataType.struct(nullable).withNullable(false) : parts.get(0).type();
    Field added = new Field(name, element.withNullable(element.nullable() || outer));
    return unary("unnest", Stream.concat(schema.stream(), Stream.of(added)).toList(),
        (request,
            out) -> out.setUnnest(Unnest.newBuilder().setList(request.expression(list)).setName(name).setOuter(outer)));
  }

  /** All rows in the keys' order. */
  public Operator sort(List<SortKey> keys) {
    return unary("sort", schema, (request, out) -> out.setSort(Sort.newBuilder().addAllKeys(request.sortKeys(keys))));
  }

  /** The first {@code limit} rows after {@code offset} in the keys' order. */
  public Operator topN(List<SortKey> keys, long limit, long offset) {
    return unary("sort", schema,
        (request, out)
            -> out.setSort(Sort.newBuilder().addAllKeys(request.sortKeys(keys)).setLimit(limit).setOffset(offset)));
  }

  /** At most {@code count} rows after {@code offset}; any, where the input has no order. */
  public Operator limit(long count, long offset) {
    return unary("limit", schema, (request, out) -> out.setLimit(Limit.newBuilder().setCount(count).setOffset(offset)));
  }

  /** One of each set of equal rows; NULL equals NULL. */
  public Operator distinct() {
    return unary("distinct", schema, (request, out) -> out.setDistinct(Distinct.getDefaultInstance()));
  }

  /** All rows of all inputs; types are equal, names are the first one's. */
  public static Operator unionAll(List<Operator> inputs) {
    List<Field> columns = IntStream.range(0, inputs.get(0).schema.size())
                              .mapToObj(i -> {
                                Field first = inputs.get(0).schema.get(i);
                                boolean nullable =
                                    inputs.stream().anyMatch(input -> input.schema.get(i).type().nullable());
                                return new Field(first.name(), first.type().withNullable(nullable));
                              })
                              .toList();
    return new Operator("union_all", inputs, columns, (request, out) -> out.setUnionAll(UnionAll.getDefaultInstance()));
  }

  /** This operator's columns and one more for each function. */
  public Operator window(
      List<Expression> partitionBy, List<SortKey> orderBy, List<WindowCall> functions, WindowFrame frame) {
    Stream<Field> added = functions.stream().map(f -> new Field(f.name(), f.type()));
    return unary("window", Stream.concat(schema.stream(), added).toList(), (request, out) -> {
      Frame.Builder around = Frame.newBuilder().setUnit(frame.unit());
      frame.start().ifPresent(around::setStart);
      frame.end().ifPresent(around::setEnd);
      out.setWindow(Window.newBuilder()
              .addAllFunctions(functions.stream().map(request::windowFunction).toList())
              .addAllPartitionBy(request.all(partitionBy))
              .addAllOrderBy(request.sortKeys(orderBy))
              .setFrame(around));
    });
  }

  /** The same rows, spread anew over the instances of what follows. */
  public Operator shuffle(Partitioning partitioning) {
    return unary("shuffle", schema,
        (request, out) -> out.setShuffle(Shuffle.newBuilder().setPartitioning(partitioning.toProto())));
  }

  /** The root: the result goes to the client's endpoints (host:port), one for each partition. */
  public Operator send(List<String> endpoints, Partitioning partitioning, Layout layout) {
    return unary("send", schema,
        (request, out)
            -> out.setSend(Send.newBuilder()
                    .addAllEndpoints(endpoints)
                    .setPartitioning(partitioning.toProto())
                    .setLayout(layout.text())));
  }

  private Operator unary(String kind, List<Field> columns, Writer writer) {
    return new Operator(kind, List.of(this), columns, writer);
  }

  private List<Field> joined(Operator right, JoinType type) {
    Stream<Field> left = nullable(schema, type == JoinType.RIGHT || type == JoinType.FULL);
    return switch (type) {
      case INNER, LEFT, RIGHT, FULL ->
        Stream.concat(left, nullable(right.schema, type == JoinType.LEFT || type == JoinType.FULL)).toList();
      case SEMI, ANTI -> schema;
      case MARK -> Stream.concat(left, Stream.of(new Field("mark", DataType.BOOL))).toList();
    };
  }

  private static Stream<Field> nullable(List<Field> fields, boolean extended) {
    return fields.stream().map(f -> extended ? new Field(f.name(), f.type().withNullable(true)) : f);
  }

  private static List<Field> fields(List<String> names, List<Expression> expressions) {
    if (names.size() != expressions.size()) {
      throw new IllegalArgumentException("%d names of %d expressions".formatted(names.size(), expressions.size()));
    }
    return IntStream.range(0, names.size()).mapToObj(i -> new Field(names.get(i), expressions.get(i).type())).toList();
  }

  @Override
  public String toString() {
    return request(Dialect.DEFAULT).toString();
  }
}
