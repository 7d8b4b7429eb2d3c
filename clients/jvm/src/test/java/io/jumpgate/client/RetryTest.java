package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.JumpgateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which failures are worth another job, and which devices it leaves alone. */
class RetryTest {
  private static final JumpgateException DIED =
      new JumpgateException("instance_failed", "instance f0.0 died", Map.of("host", "h1", "instance", "f0.0"));
  private static final JumpgateException FULL =
      new JumpgateException("capacity", "card c1 is full", Map.of("host", "h1", "device", "c1"));
  private static final JumpgateException NO_PLACE = new JumpgateException("cannot_place", "no device is left");

  private final List<List<String>> started = new ArrayList<>();

  @Test
  void whatMayHelp() {
    assertTrue(Retry.mayHelp(DIED));
    assertTrue(Retry.mayHelp(FULL));
    assertTrue(Retry.mayHelp(new JumpgateException("unreachable", "h1 is away", Map.of("host", "h1"))));
    assertTrue(Retry.mayHelp(new JumpgateException("file_changed", "t.csv has changed")));
  }

  @Test
  void whatIsTheQuerysOrTheServicesFailsAtOnce() {
    assertFalse(Retry.mayHelp(new JumpgateException("overflow", "too large", Map.of("host", "h1"))));
    assertFalse(Retry.mayHelp(new JumpgateException("unreachable", "no service", Map.of("address", "a:1"))));
    assertFalse(Retry.mayHelp(new JumpgateException("timed_out", "too late", Map.of("host", "h1"))));
    assertFalse(Retry.mayHelp(new JumpgateException("cancelled", "by its client", Map.of("host", "h1"))));
  }

  @Test
  void withoutTheDeviceThatFailed() {
    assertEquals("answer", Retry.after(FULL, this::start));
    assertEquals("answer", Retry.after(new JumpgateException("file_changed", "t.csv has changed"), this::start));
    assertEquals(List.of(List.of("c1"), List.of()), started);
  }

  @Test
  void withItIfNoOtherCanDoTheWork() {
    assertEquals("answer", Retry.after(DIED, without -> without.isEmpty() ? start(without) : refuse(without)));
    assertEquals(List.of(List.of("h1"), List.of()), started);
  }

  @Test
  void whatAnotherAttemptRaises() {
    assertSame(NO_PLACE, assertThrows(JumpgateException.class, () -> Retry.after(DIED, this::refuse)));
    assertEquals(List.of(List.of("h1"), List.of()), started);
  }

  private String start(List<String> without) {
    started.add(without);
    return "answer";
  }

  private String refuse(List<String> without) {
    started.add(without);
    throw NO_PLACE;
  }
}
