package io.jumpgate.ntf;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Ports that endpoints may listen at: a range, both ends included, or any that is free. */
public final class Ports {
  public static final Ports ANY = new Ports(0, 0);
  private static final int PORT_MAX = 65535;

  private final int first;
  private final int last;
  private final AtomicInteger next = new AtomicInteger(); // one that was used is tried last

  private Ports(int first, int last) {
    this.first = first;
    this.last = last;
  }

  /** {@code 35000-35099}, or {@code 0} for any. Raises IllegalArgumentException. */
  public static Ports parse(String text) {
    if (text.equals("0")) {
      return ANY;
    }
    String[] ends = text.split("-", -1);
    int first = Integer.parseInt(ends[0].strip());
    int last = Integer.parseInt(ends[ends.length - 1].strip());
    if (ends.length != 2 || first < 1 || last < first || last > PORT_MAX) {
      throw new IllegalArgumentException(text);
    }
    return new Ports(first, last);
  }

  /** All of them, each time from another one on. */
  IntStream inTurn() {
    int count = last - first + 1;
    int from = Math.floorMod(next.getAndIncrement(), count);
    return IntStream.range(from, from + count).map(at -> first + at % count);
  }

  @Override
  public String toString() {
    return first == 0 ? "0" : first + "-" + last;
  }
}
