package io.jumpgate.catalog;

import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.Looks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Schemas and their tables, of a JSON file: {@code {"SCHEMA": {"TABLE": {"path": "/data/sales"}}}}; {@link TableKey}
 * has what it says of a table. For engines that know no case: names that differ in nothing else are refused.
 */
public final class Catalog {
  /** What an engine says that is to write a table. */
  public static final String READ_ONLY = "Jumpgate reads files that others write: write them with another catalog (as "
      + "hive's), and name their folder in the file of Jumpgate's";

  private final Map<String, Map<String, Declared>> schemas;
  private final Looks looks;
  private final ReadableTypes readable;

  private Catalog(Map<String, Map<String, Declared>> schemas, Looks looks, ReadableTypes readable) {
    this.schemas = schemas;
    this.looks = looks;
    this.readable = readable;
  }

  /**
   * {@code readable}: types that the engine can read. Raises {@code config} where the file cannot be read or says
   * something else.
   */
  public static Catalog load(Path file, Looks looks, ReadableTypes readable) {
    try {
      Map<String, Map<String, Declared>> schemas = new LinkedHashMap<>();
      JsonParser.parseString(Files.readString(file)).getAsJsonObject().asMap().forEach((schema, tables) -> {
        Map<String, Declared> known = new LinkedHashMap<>();
        tables.getAsJsonObject().asMap().forEach((name, table) -> {
          Declared declared = Declared.parse(name, table.getAsJsonObject());
          Table.names(declared.columns(), readable);
          Table.put(known, name, declared);
        });
        Table.put(schemas, schema, known);
      });
      return new Catalog(schemas, looks, readable);
    } catch (
        IOException | JsonParseException | IllegalStateException | IllegalArgumentException | ClassCastException e) {
      throw new JumpgateException(ErrorCode.CONFIG, "cannot read the catalog " + file + ": " + e.getMessage());
    }
  }

  public List<String> schemas() {
    return List.copyOf(schemas.keySet());
  }

  /** Their names; of a schema that there is not, none. */
  public Set<String> tables(String schema) {
    return schemas.getOrDefault(schema, Map.of()).keySet();
  }

  /** The table as it is now, if there is one. Raises what the service finds wrong with its path. */
  public Optional<Table> table(String schema, String table) {
    return Optional.ofNullable(schemas.getOrDefault(schema, Map.of()).get(table))
        .map(declared -> declared.table(looks, readable));
  }
}
