package io.jumpgate.catalog;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.Looks;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.v1.LookRequest;
import io.jumpgate.v1.Read;
import io.jumpgate.v1.Schema;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a catalog's file says of a table: {@code files}, of which format and columns are said, too; or a {@code path},
 * of which the service is asked what is not said.
 */
record Declared(String format, List<String> files, String path, List<Field> columns, Map<String, String> options) {
  /** Raises IllegalArgumentException, or IllegalStateException where a value is none of its key's. */
  static Declared parse(String name, JsonObject table) {
    TableKey.check(name, table.keySet());
    boolean looked = table.has(TableKey.PATH.key());
    if (looked == table.has(TableKey.FILES.key())) {
      throw new IllegalArgumentException(
          "table %s has either %s or %s".formatted(name, TableKey.PATH.key(), TableKey.FILES.key()));
    }
    for (TableKey key : looked ? List.<TableKey>of() : List.of(TableKey.FORMAT, TableKey.COLUMNS)) {
      if (!table.has(key.key())) {
        throw new IllegalArgumentException("table %s lacks %s".formatted(name, key.key()));
      }
    }
    Map<String, String> options = new LinkedHashMap<>();
    object(table, TableKey.OPTIONS).forEach((option, value) -> options.put(option, value.getAsString()));
    List<Field> columns = object(table, TableKey.COLUMNS)
                              .entrySet()
                              .stream()
                              .map(e -> new Field(e.getKey(), DataType.parse(e.getValue().getAsString())))
                              .toList();
    List<String> files = looked
        ? List.of()
        : table.getAsJsonArray(TableKey.FILES.key()).asList().stream().map(JsonElement::getAsString).toList();
    return new Declared(text(table, TableKey.FORMAT), files, text(table, TableKey.PATH), columns, options);
  }

  private static Map<String, JsonElement> object(JsonObject table, TableKey key) {
    return table.has(key.key()) ? table.getAsJsonObject(key.key()).asMap() : Map.of();
  }

  private static String text(JsonObject table, TableKey key) {
    return table.has(key.key()) ? table.get(key.key()).getAsString() : "";
  }

  /** What the service refuses of a path is the catalog's to correct. */
  private static Read found(Looks looks, LookRequest request) {
    try {
      return looks.at(request);
    } catch (JumpgateException e) {
      throw e.is(ErrorCode.INVALID_DATAFLOW) ? new JumpgateException(ErrorCode.CONFIG, e.getMessage(), e.fields()) : e;
    }
  }

  /**
   * The table as it is now. Raises what the service finds wrong with a path, and {@code config} where columns differ in
   * case alone.
   */
  Table table(Looks looks, ReadableTypes readable) {
    if (path.isEmpty()) {
      return Table.of(format, files, columns, options, readable);
    }
    LookRequest.Builder request = LookRequest.newBuilder().addPaths(path).setFormat(format).putAllOptions(options);
    if (!columns.isEmpty()) {
      request.setFileSchema(Schema.newBuilder().addAllFields(columns.stream().map(Field::toProto).toList()));
    }
    Read read = found(looks, request.build());
    List<Field> found = read.getFileSchema().getFieldsList().stream().map(Field::fromProto).toList();
    try {
      return Table.of(read.getFormat(), read.getFilesList(), found, read.getOptionsMap(), readable);
    } catch (IllegalArgumentException e) {
      throw new JumpgateException(ErrorCode.CONFIG, path + ": " + e.getMessage());
    }
  }
}
