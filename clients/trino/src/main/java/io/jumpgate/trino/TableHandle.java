package io.jumpgate.trino;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.explain.Coverage;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.predicate.TupleDomain;
import io.trino.spi.type.Type;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A result that accelerators compute: of a table, all columns that Trino can read; {@code name} says of which tables it
 * is made, for people. A worker gets the request alone; what the planner needs to put more into it stays with the
 * coordinator.
 */
public final class TableHandle implements ConnectorTableHandle {
  /** What Trino does where engines differ. */
  private static final Dialect TRINO =
      new Dialect(Dialect.OnOverflow.ERROR, Dialect.DivisionByZero.IEEE, Dialect.ToInteger.ROUND, Dialect.Nan.IEEE);

  private final String name;
  private final String request;
  private final JumpgateColumn any;
  private final List<JumpgateColumn> columns;
  private final Operator operator;
  private final Pushed pushed;
  private final Set<Coverage.Stay> stays = new LinkedHashSet<>();

  /**
   * What the planner has put into a handle. {@code operators}: how many; {@code generation}: how often its columns
   * became others; {@code enforced}: conditions on these that hold for every row; {@code first}: the first rows that it
   * has been reduced to, as text.
   */
  public record Pushed(int operators, int generation, TupleDomain<ColumnHandle> enforced, String first) {
    static final Pushed TABLE = new Pushed(1, 0, TupleDomain.all(), "");
  }

  @JsonCreator
  public TableHandle(@JsonProperty("name") String name, @JsonProperty("request") String request,
      @JsonProperty("any") JumpgateColumn any) {
    this(name, request, any, List.of(), null, Pushed.TABLE);
  }

  private TableHandle(
      String name, String request, JumpgateColumn any, List<JumpgateColumn> columns, Operator operator, Pushed pushed) {
    this.name = name;
    this.request = request;
    this.any = any;
    this.columns = columns;
    this.operator = operator;
    this.pushed = pushed;
  }

  private static TableHandle of(String name, Operator operator, List<JumpgateColumn> columns, Pushed pushed) {
    JumpgateColumn any = columns.isEmpty() ? null : columns.get(0);
    return new TableHandle(name, Unsent.of(operator, TRINO).text(), any, columns, operator, pushed);
  }

  /** Of a table. */
  static TableHandle of(String name, Operator read, Types types) {
    List<Type> shown = read.schema().stream().map(field -> types.trino(field.type())).toList();
    return of(name, read, columns(read, shown, 0), Pushed.TABLE);
  }

  private static List<JumpgateColumn> columns(Operator operator, List<Type> shown, int generation) {
    return IntStream.range(0, shown.size())
        .mapToObj(i -> {
          Field field = operator.schema().get(i);
          return new JumpgateColumn(i, field.name(), field.type().encoded(), shown.get(i), generation);
        })
        .toList();
  }

  @JsonProperty
  public String name() {
    return name;
  }

  @JsonProperty
  public String request() {
    return request;
  }

  /** One of its columns, for who counts rows; null if it has none. */
  @JsonProperty
  public JumpgateColumn any() {
    return any;
  }

  /** What computes it; only the coordinator knows it. */
  public Operator operator() {
    return operator;
  }

  public Pushed pushed() {
    return pushed;
  }

  /** All of its columns. */
  public List<JumpgateColumn> columns() {
    return columns;
  }

  /** With one more operator, of which the columns are others, that Trino plans with as these types. */
  public TableHandle then(Operator above, List<Type> shown) {
    Pushed more = new Pushed(pushed.operators + 1, pushed.generation + 1, TupleDomain.all(), "");
    return of(name, above, columns(above, shown, more.generation), more);
  }

  /** With one more operator, of which the columns are the same. */
  public TableHandle then(Operator above, TupleDomain<ColumnHandle> enforced, String first) {
    return of(name, above, columns, new Pushed(pushed.operators + 1, pushed.generation, enforced, first));
  }

  /** Joined with another one, whose columns come after those of this. */
  public TableHandle join(TableHandle other, Operator joined) {
    int generation = Math.max(pushed.generation, other.pushed.generation) + 1;
    Pushed both = new Pushed(pushed.operators + other.pushed.operators + 1, generation, TupleDomain.all(), "");
    List<Type> shown = Stream.concat(columns.stream(), other.columns.stream()).map(JumpgateColumn::shown).toList();
    return of(name + " and " + other.name, joined, columns(joined, shown, generation), both);
  }

  /** Notes that an operator above it stays, for EXPLAIN. */
  public void stays(Coverage.Stay stay) {
    synchronized (stays) {
      stays.add(stay);
    }
  }

  public Coverage coverage() {
    synchronized (stays) {
      return new Coverage(pushed.operators, pushed.operators + stays.size(), List.copyOf(stays));
    }
  }

  /** What computes all of its columns. */
  Unsent unsent() {
    return Unsent.parse(request);
  }

  /** What computes all of its columns with one more operator above it, which leaves rows out. */
  Unsent unsent(Operator above) {
    return Unsent.of(above, TRINO);
  }

  /** With another request for the same columns; its own, if that is empty. */
  TableHandle computedBy(String other) {
    return other.isEmpty() ? this : new TableHandle(name, other, any);
  }

  /** What computes these of its columns; one, if none is wanted. Raises {@code config} where there is none. */
  Unsent columns(List<JumpgateColumn> wanted) {
    if (wanted.isEmpty() && any == null) {
      throw new JumpgateException(ErrorCode.CONFIG, name + " has no column that Trino can read");
    }
    return unsent().select((wanted.isEmpty() ? List.of(any) : wanted).stream().map(JumpgateColumn::wanted).toList());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableHandle handle && handle.name.equals(name) && handle.request.equals(request);
  }

  @Override
  public int hashCode() {
    return request.hashCode();
  }

  @Override
  public String toString() {
    return name + ", " + coverage().text().replace("\n", "; ");
  }
}
