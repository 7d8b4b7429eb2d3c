package io.jumpgate.presto;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.catalog.TableKey;
import io.jumpgate.settings.CatalogSetting;
import io.jumpgate.settings.DocTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** docs/presto.md has the settings that there are. */
final class SettingsPageTest {
  private static final Path PAGE = Path.of("../../docs/presto.md");

  @Test
  void hasAllSettings() throws IOException {
    String page = Files.readString(PAGE);
    List<List<String>> session =
        SessionProperties.all()
            .stream()
            .map(p -> List.of(DocTable.code(p.getName()), DocTable.code("" + p.getDefaultValue()), p.getDescription()))
            .toList();
    for (String table : List.of(CatalogSetting.table(), TableKey.table(),
             DocTable.of(List.of("session property", "default", "meaning"), session))) {
      assertTrue(page.contains(table), () -> PAGE + " lacks\n" + table);
    }
  }
}
