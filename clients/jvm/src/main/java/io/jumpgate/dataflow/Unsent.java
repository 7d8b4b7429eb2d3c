package io.jumpgate.dataflow;

import com.google.protobuf.InvalidProtocolBufferException;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Project;
import io.jumpgate.v1.Send;
import java.util.Base64;
import java.util.List;
import java.util.stream.IntStream;

/** A request that was planned before it is known who receives its result: another process may add the end. */
public record Unsent(Dataflow dataflow) {
  /** A column of the result that somebody wants. */
  public record Wanted(int index, Field field) {}

  public static Unsent of(Operator root, Dialect dialect) {
    return new Unsent(root.request(dialect));
  }

  /** The inverse of {@link #text}; raises IllegalArgumentException. */
  public static Unsent parse(String text) {
    try {
      return new Unsent(Dataflow.parseFrom(Base64.getDecoder().decode(text)));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("not a request: " + e.getMessage(), e);
    }
  }

  /** For messages that hold text. */
  public String text() {
    return Base64.getEncoder().encodeToString(dataflow.toByteArray());
  }

  /** These columns in this order, of which there is one at least. */
  public Unsent select(List<Wanted> columns) {
    Dataflow.Builder out = dataflow.toBuilder();
    Project.Builder project = Project.newBuilder();
    for (Wanted wanted : columns) {
      project.addExpressions(out.getExpressionsCount()).addNames(wanted.field().name());
      out.addExpressions(Expression.column(wanted.index(), wanted.field()).toProto(List.of()));
    }
    return append(out, io.jumpgate.v1.Operator.newBuilder().setProject(project));
  }

  /** The result's columns, which a projection names last. */
  public List<Field> fields() {
    Project last = dataflow.getOperators(dataflow.getOperatorsCount() - 1).getProject();
    return IntStream.range(0, last.getExpressionsCount())
        .mapToObj(i -> {
          io.jumpgate.v1.Type type = dataflow.getExpressions(last.getExpressions(i)).getType();
          return new Field(last.getNames(i), DataType.fromProto(type));
        })
        .toList();
  }

  /** The whole request: the result goes to the endpoints. */
  public Dataflow send(List<String> endpoints, Partitioning partitioning, Layout layout) {
    Send.Builder send =
        Send.newBuilder().addAllEndpoints(endpoints).setPartitioning(partitioning.toProto()).setLayout(layout.text());
    return append(dataflow.toBuilder(), io.jumpgate.v1.Operator.newBuilder().setSend(send)).dataflow;
  }

  private static Unsent append(Dataflow.Builder out, io.jumpgate.v1.Operator.Builder operator) {
    return new Unsent(out.addOperators(operator.addInputs(out.getOperatorsCount() - 1)).build());
  }
}
