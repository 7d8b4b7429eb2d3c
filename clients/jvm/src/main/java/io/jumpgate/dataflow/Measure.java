package io.jumpgate.dataflow;

import io.jumpgate.dataflow.Expression.SortKey;
import java.util.List;

/**
 * One aggregate: a function of docs/functions.md over arguments, of which options (literals) come last. {@code type} is
 * that of its result; {@code order} says which rows come first, for functions that are ordered.
 */
public record Measure(String function, List<Expression> arguments, DataType type, String name, List<SortKey> order) {
  private static final DataType COUNT = DataType.INT64.withNullable(false);
  private static final DataType NUMBER = DataType.FLOAT64.withNullable(false);

  public Measure {
    arguments = List.copyOf(arguments);
    order = List.copyOf(order);
  }

  public Measure(String function, List<Expression> arguments, DataType type, String name) {
    this(function, arguments, type, name, List.of());
  }

  public static Measure countStar(String name) {
    return new Measure("count_star", List.of(), COUNT, name);
  }

  public static Measure count(Expression argument, String name) {
    return new Measure("count", List.of(argument), COUNT, name);
  }

  /** int64, decimal(38, s) or float64. */
  public static Measure sum(Expression argument, String name) {
    return new Measure("sum", List.of(argument), summed(argument.type()), name);
  }

  public static Measure min(Expression argument, String name) {
    return new Measure("min", List.of(argument), argument.type().withNullable(true), name);
  }

  public static Measure max(Expression argument, String name) {
    return new Measure("max", List.of(argument), argument.type().withNullable(true), name);
  }

  /** float64. */
  public static Measure avg(Expression argument, String name) {
    return new Measure("avg", List.of(argument), DataType.FLOAT64, name);
  }

  /**
   * Types of the columns that a partial aggregate has for it. Raises IllegalArgumentException for one that has no
   * parts.
   */
  public List<DataType> states() {
    return switch (function) {
      case "count", "count_star", "regr_count" -> List.of(COUNT);
      case "sum", "min", "max" -> List.of(type);
      case "avg" -> List.of(summed(arguments.get(0).type()), COUNT);
      case "stddev", "stddev_pop", "variance", "variance_pop" -> List.of(COUNT, NUMBER, NUMBER);
      default -> throw new IllegalArgumentException(function + " is not computed in parts");
    };
  }

  /** The same measure of parts that were computed: what its arguments were is known by their types alone. */
  Measure ofStates() {
    List<SortKey> keys =
        order.stream()
            .map(k -> new SortKey(Expression.nullOf(k.expression().type()), k.descending(), k.nullsFirst()))
            .toList();
    return new Measure(function, arguments.stream().map(a -> Expression.nullOf(a.type())).toList(), type, name, keys);
  }

  private static DataType summed(DataType type) {
    return switch (type.kind()) {
      case DECIMAL -> DataType.decimal(38, ((DataType.Decimal) type).scale());
      case FLOAT32, FLOAT64 -> DataType.FLOAT64;
      default -> DataType.INT64;
    };
  }
}
