package io.jumpgate.dataflow;

import io.jumpgate.dataflow.Expression.SortKey;
import java.util.List;

/**
 * One aggregate over arguments, of which options (literals) come last. {@code order} says which rows come first, for
 * functions that are ordered.
 */
public record Measure(MeasureFunction function, List<Expression> arguments, String name, List<SortKey> order) {
  public Measure {
    arguments = List.copyOf(arguments);
    order = List.copyOf(order);
  }

  public Measure(MeasureFunction function, List<Expression> arguments, String name) {
    this(function, arguments, name, List.of());
  }

  /** The type of its result. */
  public DataType type() {
    return function.type(arguments);
  }

  /**
   * Types of the columns that a partial aggregate has for it. Raises IllegalArgumentException for one that has no
   * parts.
   */
  public List<DataType> states() {
    List<DataType> states = function.states(arguments);
    if (states.isEmpty()) {
      throw new IllegalArgumentException(function.text() + " is not computed in parts");
    }
    return states;
  }

  /** The same measure of parts that were computed: what its arguments were is known by their types alone. */
  Measure ofStates() {
    List<SortKey> keys =
        order.stream()
            .map(k -> new SortKey(Expression.nullOf(k.expression().type()), k.descending(), k.nullsFirst()))
            .toList();
    return new Measure(function, arguments.stream().map(a -> Expression.nullOf(a.type())).toList(), name, keys);
  }
}
