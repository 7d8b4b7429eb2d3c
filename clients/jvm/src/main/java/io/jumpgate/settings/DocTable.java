package io.jumpgate.settings;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A table of a page of the docs, as the code says it: tests look for it in the page. */
public final class DocTable {
  private DocTable() {}

  public static String of(List<String> head, List<List<String>> rows) {
    Stream<List<String>> lines = Stream.concat(Stream.of(head), Stream.of(head.stream().map(h -> "---").toList()));
    return Stream.concat(lines, rows.stream())
        .map(cells -> cells.stream().collect(Collectors.joining(" | ", "| ", " |")))
        .collect(Collectors.joining("\n"));
  }

  /** What a person writes or reads word for word; nothing of nothing. */
  public static String code(String text) {
    return text.isEmpty() ? "" : "`" + text + "`";
  }
}
