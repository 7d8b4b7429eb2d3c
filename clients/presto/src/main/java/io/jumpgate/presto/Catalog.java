package io.jumpgate.presto;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.presto.plan.Types;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Schemas and their tables, of a JSON file: {@code {"SCHEMA": {"TABLE": {"format": "parquet", "files": ["/a.parquet"],
 * "columns": {"NAME": "decimal(7,2)?"}}}}}. Presto knows no case: names that differ in nothing else are refused.
 */
public record Catalog(Map<String, Map<String, Table>> schemas) {
  /**
   * Files of one format; {@code columns} are those that they have, in order; {@code names} Presto's to those of a type
   *  that it can read.
   */
  public record Table(String format, List<String> files, List<Field> columns, Map<String, Integer> names) {
    /** Columns by their positions, in this order. */
    public Operator read(List<Integer> indices) {
      return Operator.read(files, format, columns, indices, Map.of(), Optional.empty());
    }

    /** What Presto does not see. */
    List<Field> hidden() {
      return columns.stream().filter(field -> Types.presto(field.type()).isEmpty()).toList();
    }
  }

  /** Raises {@code config} where the file cannot be read or says something else. */
  static Catalog load(Path file) {
    try {
      Map<String, Map<String, Table>> schemas = new LinkedHashMap<>();
      JsonParser.parseString(Files.readString(file)).getAsJsonObject().asMap().forEach((schema, tables) -> {
        Map<String, Table> known = new LinkedHashMap<>();
        tables.getAsJsonObject().asMap().forEach((name, table) -> put(known, name, table(table.getAsJsonObject())));
        put(schemas, schema, known);
      });
      return new Catalog(schemas);
    } catch (
        IOException | JsonParseException | IllegalStateException | IllegalArgumentException | NullPointerException e) {
      throw new JumpgateException(JumpgateException.CONFIG, "cannot read the catalog " + file + ": " + e.getMessage());
    }
  }

  public Table table(TableHandle handle) {
    return schemas.get(handle.schema()).get(handle.table());
  }

  private static Table table(JsonObject table) {
    List<String> files = table.getAsJsonArray("files").asList().stream().map(JsonElement::getAsString).toList();
    List<Field> columns =
        table.getAsJsonObject("columns")
            .entrySet()
            .stream()
            .map(e -> new Field(e.getKey(), DataType.parse(e.getValue().getAsString().replace(" ", ""))))
            .toList();
    Map<String, Integer> names = new LinkedHashMap<>();
    for (int i = 0; i < columns.size(); i++) {
      if (Types.presto(columns.get(i).type()).isPresent()) {
        put(names, columns.get(i).name(), i);
      }
    }
    return new Table(table.get("format").getAsString(), files, columns, names);
  }

  private static <T> void put(Map<String, T> known, String name, T value) {
    if (known.put(name.toLowerCase(Locale.ENGLISH), value) != null) {
      throw new IllegalArgumentException("two are called '" + name + "' where case does not count");
    }
  }
}
