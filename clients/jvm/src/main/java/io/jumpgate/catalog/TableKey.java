package io.jumpgate.catalog;

import io.jumpgate.settings.DocTable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** What a catalog's file says of a table. */
public enum TableKey {
  PATH("a folder, a glob or a file, where the service runs: what it names is found anew for queries"),
  FILES("instead of it: paths of files, where the scans run"),
  FORMAT("of the files, by its name in [files.md](files.md); of a path, what the suffixes say unless it is given"),
  COLUMNS("what the files have, in order: a name and a type each; `?` says that a column may be NULL; of a path, found"
      + " unless they are given"),
  OPTIONS("of the format, a text each ([files.md](files.md#options))");

  private final String meaning;

  TableKey(String meaning) {
    this.meaning = meaning;
  }

  /** As the file has it. */
  String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Raises IllegalArgumentException for a key that there is not. */
  static void check(String table, Set<String> keys) {
    List<String> known = Arrays.stream(values()).map(TableKey::key).toList();
    List<String> others = keys.stream().filter(key -> !known.contains(key)).sorted().toList();
    if (!others.isEmpty()) {
      throw new IllegalArgumentException(
          "table %s has %s; a table has %s".formatted(table, String.join(", ", others), String.join(", ", known)));
    }
  }

  /** For the docs. */
  public static String table() {
    return DocTable.of(List.of("key", "meaning"),
        Arrays.stream(values()).map(k -> List.of(DocTable.code(k.key()), k.meaning)).collect(Collectors.toList()));
  }
}
