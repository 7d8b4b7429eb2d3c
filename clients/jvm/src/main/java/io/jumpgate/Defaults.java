package io.jumpgate;

/**
 * Settings and limits that clients share with the service. Made from the Python declarations: {@code ./dev golden
 * --update-golden}.
 */
public final class Defaults {
  public static final String ADDRESS = "127.0.0.1:7411";

  /** The most rows, and bytes, of a frame. */
  public static final int FRAME_ROWS_MAX = 1048576;

  public static final int FRAME_DATA_BYTES_MAX = 268435456;
  public static final int FRAME_CONTROL_BYTES_MAX = 1048576;

  /** The most bytes of an error frame's code and sentence. */
  public static final int ERROR_CODE_BYTES_MAX = 64;

  public static final int ERROR_MESSAGE_BYTES_MAX = 4096;

  private Defaults() {}
}
