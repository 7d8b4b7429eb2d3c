package io.jumpgate.dataflow;

import io.jumpgate.v1.Dataflow;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/** Appends to a request's tables, each operator and expression once, after its parts; recurses over nothing. */
final class RequestWriter {
  private final Dataflow.Builder message = Dataflow.newBuilder();
  private final Map<Expression, Integer> expressions = new IdentityHashMap<>();
  private final Map<Operator, Integer> operators = new IdentityHashMap<>();

  private final Function<Object, Expression> values;

  private RequestWriter(Function<Object, Expression> values) {
    this.values = values;
  }

  static Dataflow write(Operator root, Dialect dialect, Function<Object, Expression> values) {
    RequestWriter writer = new RequestWriter(values);
    afterParts(root, Operator::inputs, writer.operators, writer::append);
    return writer.message.setDialect(dialect.toProto()).build();
  }

  /** An enum's name as requests write it. */
  static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  int expression(Expression root) {
    afterParts(root, Expression::parts, expressions, e -> {
      message.addExpressions(entry(e));
      expressions.put(e, message.getExpressionsCount() - 1);
    });
    return expressions.get(root);
  }

  private io.jumpgate.v1.Expression entry(Expression e) {
    io.jumpgate.v1.Expression entry = e.toProto(e.parts().stream().map(expressions::get).toList());
    return e.parameter()
        .map(key -> entry.toBuilder().setLiteral(values.apply(key).toProto(List.of()).getLiteral()).build())
        .orElse(entry);
  }

  List<Integer> all(Collection<Expression> of) {
    return of.stream().map(this::expression).toList();
  }

  List<io.jumpgate.v1.SortKey> sortKeys(List<Expression.SortKey> keys) {
    return keys.stream()
        .map(key
            -> io.jumpgate.v1.SortKey.newBuilder()
                .setExpression(expression(key.expression()))
                .setDescending(key.descending())
                .setNullsFirst(key.nullsFirst())
                .build())
        .toList();
  }

  io.jumpgate.v1.Measure measure(Measure measure) {
    io.jumpgate.v1.Measure.Builder out = io.jumpgate.v1.Measure.newBuilder()
                                             .setFunction(measure.function().text())
                                             .setType(measure.type().toProto())
                                             .setName(measure.name());
    List<Integer> arguments = all(measure.arguments());
    if (!arguments.isEmpty()) {
      out.setArgument(arguments.get(0)).addAllMoreArguments(arguments.subList(1, arguments.size()));
    }
    return out.addAllOrder(sortKeys(measure.order())).build();
  }

  io.jumpgate.v1.WindowFunction windowFunction(Operator.WindowCall function) {
    return io.jumpgate.v1.WindowFunction.newBuilder()
        .setFunction(function.function().text())
        .addAllArguments(all(function.arguments()))
        .setType(function.type().toProto())
        .setName(function.name())
        .build();
  }

  private void append(Operator operator) {
    io.jumpgate.v1.Operator.Builder out = io.jumpgate.v1.Operator.newBuilder();
    operator.inputs().forEach(input -> out.addInputs(operators.get(input)));
    operator.write(this, out);
    message.addOperators(out);
    operators.put(operator, message.getOperatorsCount() - 1);
  }

  /** Visits what is below and including {@code root} and not yet {@code known}, which the visit makes it. */
  private static <T> void afterParts(T root, Function<T, List<T>> parts, Map<T, Integer> known, Consumer<T> visit) {
    Deque<T> pending = new ArrayDeque<>(List.of(root));
    while (!pending.isEmpty()) {
      T item = pending.peek();
      List<T> missing = parts.apply(item).stream().filter(part -> !known.containsKey(part)).toList();
      if (missing.isEmpty() || known.containsKey(item)) {
        pending.pop();
        if (!known.containsKey(item)) {
          visit.accept(item);
        }
      } else {
        for (int i = missing.size() - 1; i >= 0; i--) {
          pending.push(missing.get(i));
        }
      }
    }
  }
}
