package io.jumpgate.presto;

import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.ColumnMetadata;
import com.facebook.presto.spi.ConnectorNewTableLayout;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.ConnectorTableHandle;
import com.facebook.presto.spi.ConnectorTableLayout;
import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.facebook.presto.spi.ConnectorTableLayoutResult;
import com.facebook.presto.spi.ConnectorTableMetadata;
import com.facebook.presto.spi.Constraint;
import com.facebook.presto.spi.PrestoException;
import com.facebook.presto.spi.SchemaTableName;
import com.facebook.presto.spi.SchemaTablePrefix;
import com.facebook.presto.spi.connector.ConnectorMetadata;
import com.facebook.presto.spi.statistics.TableStatistics;
import io.jumpgate.JumpgateException;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.catalog.Table;
import io.jumpgate.dataflow.Field;
import io.jumpgate.presto.plan.Types;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The catalog in Presto's words. */
final class JumpgateMetadata implements ConnectorMetadata {
  private final Catalog catalog;
  private final Statistics statistics;
  private final Types types;

  JumpgateMetadata(Catalog catalog, Statistics statistics, Types types) {
    this.catalog = catalog;
    this.statistics = statistics;
    this.types = types;
  }

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
    return find(name).orElse(null);
  }

  private Optional<TableHandle> find(SchemaTableName name) {
    try {
      return catalog.table(name.getSchemaName(), name.getTableName())
          .map(table -> TableHandle.of(name.getSchemaName(), name.getTableName(), table));
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(e);
    }
  }

  @Override
  public List<ConnectorTableLayoutResult> getTableLayouts(ConnectorSession session, ConnectorTableHandle table,
      Constraint<ColumnHandle> constraint, Optional<Set<ColumnHandle>> columns) {
    ConnectorTableLayout layout = new ConnectorTableLayout(new LayoutHandle((TableHandle) table));
    return List.of(new ConnectorTableLayoutResult(layout, constraint.getSummary()));
  }

  @Override
  public ConnectorTableLayout getTableLayout(ConnectorSession session, ConnectorTableLayoutHandle handle) {
    return new ConnectorTableLayout(handle);
  }

  @Override
  public ConnectorTableMetadata getTableMetadata(ConnectorSession session, ConnectorTableHandle table) {
    TableHandle handle = (TableHandle) table;
    SchemaTableName name = new SchemaTableName(handle.schema(), handle.table());
    return new ConnectorTableMetadata(name, columns(handle), Map.of(), handle.source().hidden("Presto"));
  }

  @Override
  public Map<String, ColumnHandle> getColumnHandles(ConnectorSession session, ConnectorTableHandle table) {
    Map<String, ColumnHandle> handles = new LinkedHashMap<>();
    Table known = ((TableHandle) table).source();
    known.names().forEach((name, index) -> handles.put(name, new JumpgateColumn(index, known.columns().get(index))));
    return handles;
  }

  @Override
  public ColumnMetadata getColumnMetadata(ConnectorSession session, ConnectorTableHandle table, ColumnHandle column) {
    return metadata(((JumpgateColumn) column).field());
  }

  @Override
  public Map<SchemaTableName, List<ColumnMetadata>> listTableColumns(
      ConnectorSession session, SchemaTablePrefix prefix) {
    Map<SchemaTableName, List<ColumnMetadata>> columns = new LinkedHashMap<>();
    for (SchemaTableName name : listTables(session, Optional.empty())) {
      if (prefix.matches(name)) {
        try {
          find(name).ifPresent(table -> columns.put(name, columns(table)));
        } catch (PrestoException e) {
          // a query of that table says what is wrong with its path, a list of all tables has the others
        }
      }
    }
    return columns;
  }

  @Override
  public void createTable(ConnectorSession session, ConnectorTableMetadata table, boolean ignoreExisting) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public Optional<ConnectorNewTableLayout> getNewTableLayout(ConnectorSession session, ConnectorTableMetadata table) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public Optional<ConnectorNewTableLayout> getInsertLayout(ConnectorSession session, ConnectorTableHandle table) {
    throw JumpgateErrorCode.readOnly();
  }

  @Override
  public TableStatistics getTableStatistics(ConnectorSession session, ConnectorTableHandle table,
      Optional<ConnectorTableLayoutHandle> layout, List<ColumnHandle> columns, Constraint<ColumnHandle> constraint) {
    return statistics.of((TableHandle) table, columns.stream().map(c -> (JumpgateColumn) c).toList());
  }

  private List<ColumnMetadata> columns(TableHandle table) {
    Table known = table.source();
    return known.names().values().stream().map(index -> metadata(known.columns().get(index))).toList();
  }

  private ColumnMetadata metadata(Field field) {
    return ColumnMetadata.builder()
        .setName(field.name().toLowerCase(Locale.ENGLISH))
        .setType(types.presto(field.type()))
        .setNullable(field.type().nullable())
        .build();
  }
}
