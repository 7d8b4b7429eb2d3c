package io.jumpgate.trino;

import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.catalog.Table;
import io.jumpgate.dataflow.Field;
import io.jumpgate.explain.Coverage;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.settings.OperatorSwitch;
import io.jumpgate.trino.plan.Aggregates;
import io.jumpgate.trino.plan.Filters;
import io.jumpgate.trino.plan.FirstRows;
import io.jumpgate.trino.plan.Joins;
import io.jumpgate.trino.plan.Projections;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.AggregateFunction;
import io.trino.spi.connector.AggregationApplicationResult;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ColumnMetadata;
import io.trino.spi.connector.ConnectorMetadata;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTableLayout;
import io.trino.spi.connector.ConnectorTableMetadata;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.ConstraintApplicationResult;
import io.trino.spi.connector.JoinApplicationResult;
import io.trino.spi.connector.JoinStatistics;
import io.trino.spi.connector.JoinType;
import io.trino.spi.connector.LimitApplicationResult;
import io.trino.spi.connector.ProjectionApplicationResult;
import io.trino.spi.connector.SaveMode;
import io.trino.spi.connector.SchemaTableName;
import io.trino.spi.connector.SchemaTablePrefix;
import io.trino.spi.connector.SortItem;
import io.trino.spi.connector.TopNApplicationResult;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.statistics.TableStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** The catalog in Trino's words, and what of a plan goes into its handles. */
final class JumpgateMetadata implements ConnectorMetadata {
  private final Catalog catalog;
  private final Statistics statistics;
  private final Types types;

  JumpgateMetadata(Catalog catalog, Statistics statistics, Types types) {
    this.catalog = catalog;
    this.statistics = statistics;
    this.types = types;
  }

  // ---- tables

  @Override
  public List<String> listSchemaNames(ConnectorSession session) {
    return catalog.schemas();
  }

  @Override
  public List<SchemaTableName> listTables(ConnectorSession session, Optional<String> schema) {
    return catalog.schemas()
        .stream()
        .filter(known -> schema.isEmpty() || schema.get().equals(known))
        .flatMap(known -> catalog.tables(known).stream().map(table -> new SchemaTableName(known, table)))
        .toList();
  }

  @Override
  public ConnectorTableHandle getTableHandle(ConnectorSession session, SchemaTableName name) {
    return find(name).map(table -> TableHandle.of(name.toString(), table.read(), types)).orElse(null);
  }

  private Optional<Table> find(SchemaTableName name) {
    try {
      return catalog.table(name.getSchemaName(), name.getTableName());
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(e);
    }
  }

  @Override
  public ConnectorTableMetadata getTableMetadata(ConnectorSession session, ConnectorTableHandle table) {
    TableHandle handle = (TableHandle) table;
    SchemaTableName name = SchemaTableName.schemaTableName(handle.name().substring(0, handle.name().indexOf('.')),
        handle.name().substring(handle.name().indexOf('.') + 1));
    List<ColumnMetadata> columns = handle.columns().stream().map(JumpgateMetadata::metadata).toList();
    return new ConnectorTableMetadata(name, columns, Map.of(), find(name).flatMap(known -> known.hidden("Trino")));
  }

  @Override
  public Map<String, ColumnHandle> getColumnHandles(ConnectorSession session, ConnectorTableHandle table) {
    Map<String, ColumnHandle> handles = new LinkedHashMap<>();
    for (JumpgateColumn column : ((TableHandle) table).columns()) {
      String name = column.name().toLowerCase(Locale.ENGLISH);
      handles.put(handles.containsKey(name) ? name + "_" + column.index() : name, column); // joined tables share names
    }
    return handles;
  }

  @Override
  public ColumnMetadata getColumnMetadata(ConnectorSession session, ConnectorTableHandle table, ColumnHandle column) {
    return metadata((JumpgateColumn) column);
  }

  @Override
  public Map<SchemaTableName, List<ColumnMetadata>> listTableColumns(
      ConnectorSession session, SchemaTablePrefix prefix) {
    Map<SchemaTableName, List<ColumnMetadata>> columns = new LinkedHashMap<>();
    for (SchemaTableName name : listTables(session, prefix.getSchema())) {
      if (prefix.matches(name)) {
        try {
          find(name).ifPresent(table
              -> columns.put(
                  name, table.names().values().stream().map(i -> metadata(table.columns().get(i))).toList()));
        } catch (TrinoException e) {
          // a query of that table says what is wrong with its path, a list of all tables has the others
        }
      }
    }
    return columns;
  }

  private static ColumnMetadata metadata(JumpgateColumn column) {
    return new ColumnMetadata(column.name(), column.shown());
  }

  private ColumnMetadata metadata(Field field) {
    return new ColumnMetadata(field.name(), types.trino(field.type()));
  }

  @Override
  public void createTable(ConnectorSession session, ConnectorTableMetadata table, SaveMode mode) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public Optional<ConnectorTableLayout> getNewTableLayout(ConnectorSession session, ConnectorTableMetadata table) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public Optional<ConnectorTableLayout> getInsertLayout(ConnectorSession session, ConnectorTableHandle table) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public TableStatistics getTableStatistics(ConnectorSession session, ConnectorTableHandle table) {
    return statistics.of((TableHandle) table);
  }

  // ---- what goes into a handle

  @Override
  public Optional<ConstraintApplicationResult<ConnectorTableHandle>> applyFilter(
      ConnectorSession session, ConnectorTableHandle table, Constraint constraint) {
    return apply(session, OperatorSwitch.FILTER, table, handle -> Filters.apply(handle, constraint));
  }

  @Override
  public Optional<ProjectionApplicationResult<ConnectorTableHandle>> applyProjection(ConnectorSession session,
      ConnectorTableHandle table, List<ConnectorExpression> projections, Map<String, ColumnHandle> assignments) {
    return Projections.areColumns(projections)
        ? Optional.empty() // workers ask for those that they want
        : apply(session, OperatorSwitch.PROJECT, table, handle -> Projections.apply(handle, projections, assignments));
  }

  @Override
  public Optional<AggregationApplicationResult<ConnectorTableHandle>> applyAggregation(ConnectorSession session,
      ConnectorTableHandle table, List<AggregateFunction> aggregates, Map<String, ColumnHandle> assignments,
      List<List<ColumnHandle>> groupingSets) {
    return apply(session, OperatorSwitch.AGGREGATION, table,
        handle -> Optional.of(Aggregates.apply(handle, aggregates, assignments, groupingSets)));
  }

  @Override
  public Optional<JoinApplicationResult<ConnectorTableHandle>> applyJoin(ConnectorSession session, JoinType type,
      ConnectorTableHandle left, ConnectorTableHandle right, ConnectorExpression condition,
      Map<String, ColumnHandle> leftAssignments, Map<String, ColumnHandle> rightAssignments,
      JoinStatistics joinStatistics) {
    return apply(session, OperatorSwitch.JOIN, left,
        handle
        -> Optional.of(Joins.apply(type, handle, (TableHandle) right, condition, leftAssignments, rightAssignments)));
  }

  @Override
  public Optional<TopNApplicationResult<ConnectorTableHandle>> applyTopN(ConnectorSession session,
      ConnectorTableHandle table, long count, List<SortItem> items, Map<String, ColumnHandle> assignments) {
    return apply(session, OperatorSwitch.TOP_N, table, handle -> FirstRows.ordered(handle, count, items, assignments));
  }

  @Override
  public Optional<LimitApplicationResult<ConnectorTableHandle>> applyLimit(
      ConnectorSession session, ConnectorTableHandle table, long count) {
    return apply(session, OperatorSwitch.LIMIT, table, handle -> FirstRows.any(handle, count));
  }

  /** What a session lets in; why it does not, or cannot, is noted. Raises TrinoException in a strict session. */
  private static <T> Optional<T> apply(ConnectorSession session, OperatorSwitch operator, ConnectorTableHandle table,
      Function<TableHandle, Optional<T>> step) {
    TableHandle handle = (TableHandle) table;
    if (!SessionProperties.offload(session)) {
      return Optional.empty();
    }
    try {
      SessionProperties.require(operator, session);
      return step.apply(handle);
    } catch (NotOffloaded e) {
      handle.stays(new Coverage.Stay(operator.operator(), e.reason()));
      if (SessionProperties.strict(session)) {
        throw JumpgateErrorCode.notOffloaded(handle.coverage());
      }
      return Optional.empty();
    }
  }
}
