package io.jumpgate.catalog;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Schemas and their tables, of a JSON file: {@code {"SCHEMA": {"TABLE": {"format": "parquet", "files": ["/a.parquet"],
 * "columns": {"NAME": "decimal(7,2)?"}}}}}. For engines that know no case: names that differ in nothing else are
 * refused.
 */
public record Catalog(Map<String, Map<String, Table>> schemas) {
  /**
   * Files of one format; {@code columns} are those that they have, in order; {@code names}, in lower case, are of those
   * that the engine can read.
   */
  public record Table(String format, List<String> files, List<Field> columns, Map<String, Integer> names) {
    /** Columns by their positions, in this order. */
    public Operator read(List<Integer> indices) {
      return Operator.read(files, format, columns, indices, Map.of(), Optional.empty());
    }

    /** What the engine does not see. */
    public List<Field> hidden() {
      return IntStream.range(0, columns.size())
          .filter(index -> !names.containsValue(index))
          .mapToObj(columns::get)
          .toList();
    }
  }

  /**
   * {@code readable}: types that the engine can read. Raises {@code config} where the file cannot be read or says
   * something else.
   */
  public static Catalog load(Path file, Predicate<DataType> readable) {
    try {
      Map<String, Map<String, Table>> schemas = new LinkedHashMap<>();
      JsonParser.parseString(Files.readString(file)).getAsJsonObject().asMap().forEach((schema, tables) -> {
        Map<String, Table> known = new LinkedHashMap<>();
        tables.getAsJsonObject().asMap().forEach(
            (name, table) -> put(known, name, table(name, table.getAsJsonObject(), readable)));
        put(schemas, schema, known);
      });
      return new Catalog(schemas);
    } catch (
        IOException | JsonParseException | IllegalStateException | IllegalArgumentException | NullPointerException e) {
      throw new JumpgateException(JumpgateException.CONFIG, "cannot read the catalog " + file + ": " + e.getMessage());
    }
  }

  /** Of a table that there is. */
  public Table table(String schema, String table) {
    return schemas.get(schema).get(table);
  }

  private static Table table(String name, JsonObject table, Predicate<DataType> readable) {
    TableKey.check(name, table.keySet());
    List<String> files =
        table.getAsJsonArray(TableKey.FILES.key()).asList().stream().map(JsonElement::getAsString).toList();
    List<Field> columns =
        table.getAsJsonObject(TableKey.COLUMNS.key())
            .entrySet()
            .stream()
            .map(e -> new Field(e.getKey(), DataType.parse(e.getValue().getAsString().replace(" ", ""))))
            .toList();
    Map<String, Integer> names = new LinkedHashMap<>();
    for (int i = 0; i < columns.size(); i++) {
      if (readable.test(columns.get(i).type())) {
        put(names, columns.get(i).name(), i);
      }
    }
    return new Table(table.get(TableKey.FORMAT.key()).getAsString(), files, columns, names);
  }

  private static <T> void put(Map<String, T> known, String name, T value) {
    if (known.put(name.toLowerCase(Locale.ENGLISH), value) != null) {
      throw new IllegalArgumentException("two are called '" + name + "' where case does not count");
    }
  }
}
