package io.jumpgate.presto;

import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.ColumnMetadata;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.ConnectorTableHandle;
import com.facebook.presto.spi.ConnectorTableLayout;
import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.facebook.presto.spi.ConnectorTableLayoutResult;
import com.facebook.presto.spi.ConnectorTableMetadata;
import com.facebook.presto.spi.Constraint;
import com.facebook.presto.spi.SchemaTableName;
import com.facebook.presto.spi.SchemaTablePrefix;
import com.facebook.presto.spi.connector.ConnectorMetadata;
import io.jumpgate.dataflow.Field;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The catalog in Presto's words. */
final class JumpgateMetadata implements ConnectorMetadata {
  private final Catalog catalog;

  JumpgateMetadata(Catalog catalog) {
    this.catalog = catalog;
  }

  @Override
  public List<String> listSchemaNames(ConnectorSession session) {
    return List.copyOf(catalog.schemas().keySet());
  }

  @Override
  public List<SchemaTableName> listTables(ConnectorSession session, Optional<String> schema) {
    return catalog.schemas()
        .entrySet()
        .stream()
        .filter(e -> schema.isEmpty() || schema.get().equals(e.getKey()))
        .flatMap(e -> e.getValue().keySet().stream().map(table -> new SchemaTableName(e.getKey(), table)))
        .toList();
  }

  @Override
  public ConnectorTableHandle getTableHandle(ConnectorSession session, SchemaTableName name) {
    boolean known = catalog.schemas().getOrDefault(name.getSchemaName(), Map.of()).containsKey(name.getTableName());
    return known ? new TableHandle(name.getSchemaName(), name.getTableName()) : null;
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
    return new ConnectorTableMetadata(new SchemaTableName(handle.schema(), handle.table()), columns(handle));
  }

  @Override
  public Map<String, ColumnHandle> getColumnHandles(ConnectorSession session, ConnectorTableHandle table) {
    List<Field> fields = catalog.table((TableHandle) table).columns();
    Map<String, ColumnHandle> handles = new LinkedHashMap<>();
    for (int i = 0; i < fields.size(); i++) {
      handles.put(fields.get(i).name(), new JumpgateColumn(i));
    }
    return handles;
  }

  @Override
  public ColumnMetadata getColumnMetadata(
      ConnectorSession session, ConnectorTableHandle table, ColumnHandle column) {
    return columns((TableHandle) table).get(((JumpgateColumn) column).index());
  }

  @Override
  public Map<SchemaTableName, List<ColumnMetadata>> listTableColumns(
      ConnectorSession session, SchemaTablePrefix prefix) {
    Map<SchemaTableName, List<ColumnMetadata>> columns = new LinkedHashMap<>();
    listTables(session, Optional.empty()).stream().filter(prefix::matches).forEach(
        name -> columns.put(name, columns(new TableHandle(name.getSchemaName(), name.getTableName()))));
    return columns;
  }

  private List<ColumnMetadata> columns(TableHandle table) {
    return catalog.table(table)
        .columns()
        .stream()
        .map(field -> new ColumnMetadata(field.name(), Columns.type(field)))
        .toList();
  }
}
