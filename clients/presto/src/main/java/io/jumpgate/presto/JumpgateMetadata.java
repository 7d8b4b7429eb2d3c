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
import com.facebook.presto.spi.statistics.TableStatistics;
import io.jumpgate.catalog.Catalog;
import io.jumpgate.dataflow.Field;
import io.jumpgate.presto.plan.Types;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The catalog in Presto's words. */
final class JumpgateMetadata implements ConnectorMetadata {
  private final Catalog catalog;
  private final Statistics statistics;

  JumpgateMetadata(Catalog catalog, Statistics statistics) {
    this.catalog = catalog;
    this.statistics = statistics;
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
    List<Field> hidden = handle.of(catalog).hidden();
    String names = hidden.stream().map(f -> f.name() + " " + f.type().name()).collect(Collectors.joining(", "));
    Optional<String> comment = hidden.isEmpty() ? Optional.empty() : Optional.of("not readable by Presto: " + names);
    SchemaTableName name = new SchemaTableName(handle.schema(), handle.table());
    return new ConnectorTableMetadata(name, columns(handle), Map.of(), comment);
  }

  @Override
  public Map<String, ColumnHandle> getColumnHandles(ConnectorSession session, ConnectorTableHandle table) {
    Map<String, ColumnHandle> handles = new LinkedHashMap<>();
    Catalog.Table known = ((TableHandle) table).of(catalog);
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
    listTables(session, Optional.empty())
        .stream()
        .filter(prefix::matches)
        .forEach(name -> columns.put(name, columns(new TableHandle(name.getSchemaName(), name.getTableName()))));
    return columns;
  }

  @Override
  public TableStatistics getTableStatistics(ConnectorSession session, ConnectorTableHandle table,
      Optional<ConnectorTableLayoutHandle> layout, List<ColumnHandle> columns, Constraint<ColumnHandle> constraint) {
    return statistics.of((TableHandle) table, columns.stream().map(c -> (JumpgateColumn) c).toList());
  }

  private List<ColumnMetadata> columns(TableHandle table) {
    Catalog.Table known = table.of(catalog);
    return known.names().values().stream().map(index -> metadata(known.columns().get(index))).toList();
  }

  private static ColumnMetadata metadata(Field field) {
    return ColumnMetadata.builder()
        .setName(field.name().toLowerCase(Locale.ENGLISH))
        .setType(Types.presto(field.type()).orElseThrow())
        .setNullable(field.type().nullable())
        .build();
  }
}
