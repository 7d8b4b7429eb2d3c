package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.explain.Coverage;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.trino.TableHandle;
import io.trino.spi.connector.Assignment;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ProjectionApplicationResult;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.Type;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Computed columns: those that are known become columns of the handle, beside what the others are computed from. */
public final class Projections {
  /** A column of the new handle, as Trino is to call it. */
  private record Column(String variable, Type type, Expression value) {}

  private final Scope scope;
  private final Map<String, Column> columns = new LinkedHashMap<>();
  private int computed;
  private NotOffloaded refused;

  private Projections(Scope scope) {
    this.scope = scope;
  }

  /** Whether nothing is computed. */
  public static boolean areColumns(List<ConnectorExpression> projections) {
    return projections.stream().allMatch(Variable.class ::isInstance);
  }

  /** Raises NotOffloaded if none of them is known. */
  public static Optional<ProjectionApplicationResult<ConnectorTableHandle>> apply(
      TableHandle handle, List<ConnectorExpression> projections, Map<String, ColumnHandle> assignments) {
    return new Projections(Scope.of(handle.operator().schema(), assignments)).apply(handle, projections);
  }

  private Optional<ProjectionApplicationResult<ConnectorTableHandle>> apply(
      TableHandle handle, List<ConnectorExpression> projections) {
    List<ConnectorExpression> left = projections.stream().map(this::projected).toList();
    if (computed == 0) {
      throw refused;
    }
    List<Column> made = new ArrayList<>(columns.values());
    Operator above = handle.operator().project(
        made.stream().map(Column::value).toList(), made.stream().map(Column::variable).toList());
    TableHandle next = handle.then(above, made.stream().map(Column::type).toList());
    List<Assignment> assigned =
        next.columns().stream().map(column -> new Assignment(column.name(), column, column.shown())).toList();
    if (refused != null) {
      next.stays(new Coverage.Stay("Project", refused.reason()));
    }
    return Optional.of(new ProjectionApplicationResult<>(next, left, assigned, false));
  }

  /** What Trino still computes: at best, a column. */
  private ConnectorExpression projected(ConnectorExpression e) {
    if (!(e instanceof Variable)) {
      try {
        Column column = new Column("computed_" + computed, e.getType(), new ExpressionTranslator(scope).passed(e));
        columns.put(column.variable(), column);
        computed++;
        return new Variable(column.variable(), e.getType());
      } catch (NotOffloaded reason) {
        refused = refused == null ? reason : refused;
      }
    }
    keep(e);
    return e;
  }

  private void keep(ConnectorExpression e) {
    if (e instanceof Variable variable) {
      String name = variable.getName();
      columns.putIfAbsent(name, new Column(name, variable.getType(), scope.column(name)));
    }
    e.getChildren().forEach(this::keep);
  }
}
