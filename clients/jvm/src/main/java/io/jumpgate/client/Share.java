package io.jumpgate.client;

/** Which receiver of a result one is: its number in a group that was opened for them, or the only one. */
public record Share(String group, int receiver) {
  public static final Share ALL = new Share("", 0);
}
