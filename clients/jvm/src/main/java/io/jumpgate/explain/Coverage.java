package io.jumpgate.explain;

import java.io.Serializable;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** How much of a query is offloaded: {@code offloaded} of {@code operators}, and why others stay. */
public record Coverage(int offloaded, int operators, List<Stay> stays) implements Serializable {
  /** An operator, by the engine's name, that stays. */
  public record Stay(String operator, Reason reason) implements Serializable {
    @Override
    public String toString() {
      return operator + " stays: " + reason;
    }
  }

  public static final Coverage NONE = new Coverage(0, 0, List.of());

  /** What stays for one reason more than once is said once. */
  public Coverage {
    if (offloaded < 0 || offloaded > operators) {
      throw new IllegalArgumentException("%d of %d operators".formatted(offloaded, operators));
    }
    stays = List.copyOf(new LinkedHashSet<>(stays));
  }

  /** Of two parts of a query, or of two queries. */
  public Coverage and(Coverage other) {
    return new Coverage(offloaded + other.offloaded, operators + other.operators,
        Stream.concat(stays.stream(), other.stays.stream()).toList());
  }

  /** Cut, not rounded: 100 only if all are. */
  public int percent() {
    return operators == 0 ? 0 : (int) (100L * offloaded / operators);
  }

  /** {@code 7 of 9 operators (77 %)}. */
  public String summary() {
    return "%d of %d operators (%d %%)".formatted(offloaded, operators, percent());
  }

  /** What EXPLAIN prints: the summary, then a line for each operator that stays. */
  public String text() {
    return Stream.concat(Stream.of(summary() + " offloaded"), stays.stream().map(Stay::toString))
        .collect(Collectors.joining("\n"));
  }
}
