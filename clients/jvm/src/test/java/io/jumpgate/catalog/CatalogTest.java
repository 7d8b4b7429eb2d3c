package io.jumpgate.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Looks;
import io.jumpgate.dataflow.DataType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CatalogTest {
  private final JumpgateClient client = JumpgateClient.connect("127.0.0.1:1", Duration.ofSeconds(30));

  @TempDir Path folder;

  @AfterEach
  void close() {
    client.close();
  }

  private Catalog load(String table) throws IOException {
    Path file = Files.writeString(folder.resolve("tables.json"), "{\"Main\": {\"T\": " + table + "}}");
    return Catalog.load(file, new Looks(client),
        type -> type.kind() == DataType.Kind.TIME ? Optional.of(ReadableTypes.NO_TYPE) : Optional.empty());
  }

  private void refused(String says, String table) {
    JumpgateException e = assertThrows(JumpgateException.class, () -> load(table));
    assertEquals(ErrorCode.CONFIG.text(), e.code());
    assertTrue(e.getMessage().endsWith(says), e.getMessage());
  }

  @Test
  void filesAreWhatTheFileSays() throws IOException {
    Catalog catalog = load("{'format': 'csv', 'files': ['/a.csv'], 'columns': {'A': 'decimal(7, 2)?', 't': 'time', "
            .concat("'b': 'date'}, 'options': {'delimiter': '|'}}")
            .replace('\'', '"'));
    Table table = catalog.table("main", "t").orElseThrow();
    assertEquals(Map.of("a", 0, "b", 2), table.names());
    assertEquals(Optional.of("not readable by Presto: t time (the engine has no such type)"), table.hidden("Presto"));
    assertEquals(Map.of("delimiter", "|"), table.options());
    assertEquals(Set.of("t"), catalog.tables("main"));
    assertTrue(catalog.table("main", "other").isEmpty());
    assertTrue(catalog.table("other", "t").isEmpty());
  }

  @Test
  void aNestedColumnIsReadIfAllItsPartsAre() throws IOException {
    Table table =
        load("{'format': 'orc', 'files': ['/a'], 'columns': {'l': 'list<decimal(9, 2)>?', 'm': 'map<string, "
                 .concat("list<time>>', 's': 'struct<a int64, b struct<c date>>', 'd': 'struct<a date, A date>', 'e': "
                     + "'struct<>'}}")
                 .replace('\'', '"'))
            .table("main", "t")
            .orElseThrow();
    assertEquals(Map.of("l", 0, "s", 2), table.names());
    assertEquals(
        Optional.of("not readable by Trino: m map<string, list<time>> (its value list<time>: its element time: "
            + "the engine has no such type), d struct<a date, A date> (two fields are called 'A' where case does not "
            + "count), e struct<> (a row of the engine has a field)"),
        table.hidden("Trino"));
  }

  @Test
  void whatAPathNamesIsAskedForWhenItIsWanted() throws IOException {
    Catalog catalog = load("{\"path\": \"/data/t\"}");
    JumpgateException e = assertThrows(JumpgateException.class, () -> catalog.table("main", "t"));
    assertEquals(ErrorCode.UNREACHABLE.text(), e.code());
  }

  @Test
  void whatContradictsItselfIsRefused() {
    refused("table T has either path or files", "{\"format\": \"csv\"}");
    refused("table T has either path or files", "{\"path\": \"/a\", \"files\": []}");
    refused("table T lacks columns", "{\"format\": \"csv\", \"files\": [\"/a.csv\"]}");
    refused("table T has paths; a table has path, files, format, columns, options", "{\"paths\": \"/a\"}");
    refused("two are called 'A' where case does not count",
        "{\"path\": \"/a\", \"columns\": {\"a\": \"date\", \"A\": \"date\"}}");
    refused("unknown type 'number'", "{\"path\": \"/a\", \"columns\": {\"a\": \"number\"}}");
  }
}
