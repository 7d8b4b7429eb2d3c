package io.jumpgate.client;

/**
 * Units of the cost model (jumpgate/nca/speeds.py). Made from the Python declarations: {@code ./dev golden
 * --update-golden}.
 */
public enum Work {
  BUILD("build"),
  BUILD_LARGE("build large"),
  EXPRESSION("expression"),
  FILTER("filter"),
  GROUP("group"),
  GROUP_LARGE("group large"),
  JOB("job"),
  LINK("link"),
  MEASURE("measure"),
  OPEN("open"),
  OPERATOR("operator"),
  PROBE("probe"),
  PROBE_LARGE("probe large"),
  SCAN_BYTE("scan byte"),
  SCAN_CSV_BYTE("scan csv byte"),
  SCAN_CSV_DECIMAL("scan csv decimal"),
  SCAN_CSV_NUMBER("scan csv number"),
  SCAN_CSV_TEXT("scan csv text"),
  SCAN_DECIMAL("scan decimal"),
  SCAN_JSON_BYTE("scan json byte"),
  SCAN_JSON_DECIMAL("scan json decimal"),
  SCAN_JSON_NUMBER("scan json number"),
  SCAN_JSON_TEXT("scan json text"),
  SCAN_NUMBER("scan number"),
  SCAN_ORC_BYTE("scan orc byte"),
  SCAN_ORC_DECIMAL("scan orc decimal"),
  SCAN_ORC_NUMBER("scan orc number"),
  SCAN_ORC_TEXT("scan orc text"),
  SCAN_PARQUET_BYTE("scan parquet byte"),
  SCAN_PARQUET_DECIMAL("scan parquet decimal"),
  SCAN_PARQUET_NUMBER("scan parquet number"),
  SCAN_PARQUET_TEXT("scan parquet text"),
  SCAN_TEXT("scan text"),
  SEND("send"),
  SEND_DATAGRAM("send datagram"),
  SORT("sort"),
  SPOOL("spool"),
  START("start"),
  WINDOW("window");

  private final String text;

  Work(String text) {
    this.text = text;
  }

  /** The name in requests. */
  public String text() {
    return text;
  }
}
