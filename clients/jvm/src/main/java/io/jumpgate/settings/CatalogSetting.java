package io.jumpgate.settings;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What an engine's properties of a catalog may say. */
public enum CatalogSetting {
  SERVICE("jumpgate.service", "", "the service, as host:port"),
  CATALOG("jumpgate.catalog", "", "the file of tables"),
  RECEIVER_HOST("jumpgate.receiver-host", "127.0.0.1", "the address at which producers reach this worker");

  private static final String REQUIRED = "required";

  private final String property;
  private final String unsaid;
  private final String meaning;

  CatalogSetting(String property, String unsaid, String meaning) {
    this.property = property;
    this.unsaid = unsaid;
    this.meaning = meaning;
  }

  /** What is said, or what holds unsaid. Raises {@code config} where it must be said. */
  public String of(Map<String, String> properties) {
    String value = properties.getOrDefault(property, unsaid);
    if (value.isEmpty()) {
      throw new JumpgateException(
          ErrorCode.CONFIG, "the catalog's properties lack %s: %s".formatted(property, meaning));
    }
    return value;
  }

  /** Raises {@code config} for a property that there is not. */
  public static void check(Map<String, String> properties) {
    List<String> known = Arrays.stream(values()).map(setting -> setting.property).toList();
    List<String> others = properties.keySet().stream().filter(name -> !known.contains(name)).sorted().toList();
    if (!others.isEmpty()) {
      throw new JumpgateException(ErrorCode.CONFIG,
          "a catalog has no property %s; there are %s".formatted(
              String.join(", ", others), String.join(", ", known)));
    }
  }

  /** For the docs. */
  public static String table() {
    return Arrays.stream(values())
        .map(
            s -> List.of(DocTable.code(s.property), s.unsaid.isEmpty() ? REQUIRED : DocTable.code(s.unsaid), s.meaning))
        .collect(Collectors.collectingAndThen(
            Collectors.toList(), rows -> DocTable.of(List.of("property", "default", "meaning"), rows)));
  }
}
