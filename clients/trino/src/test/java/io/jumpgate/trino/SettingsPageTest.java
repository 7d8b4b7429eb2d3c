package io.jumpgate.trino;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.settings.DocTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** docs/trino.md has the session properties that there are; docs/presto.md has what both connectors read. */
final class SettingsPageTest {
  private static final Path PAGE = Path.of("../../docs/trino.md");

  @Test
  void hasAllSessionProperties() throws IOException {
    String page = Files.readString(PAGE);
    List<List<String>> session =
        SessionProperties.all()
            .stream()
            .map(p -> List.of(DocTable.code(p.getName()), DocTable.code("" + p.getDefaultValue()), p.getDescription()))
            .toList();
    String table = DocTable.of(List.of("session property", "default", "meaning"), session);
    assertTrue(page.contains(table), () -> PAGE + " lacks\n" + table);
  }
}
