package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class PulseTest {
  private static final JumpgateException SILENT = new JumpgateException(ErrorCode.UNREACHABLE, "nobody answers");

  @Test
  void oneThatAnswersIsAskedOnce() {
    AtomicInteger asked = new AtomicInteger();
    try (Pulse pulse = new Pulse(() -> {
      asked.incrementAndGet();
      return Optional.empty();
    })) {
      pulse.require();
      pulse.require();
    }
    assertEquals(1, asked.get());
  }

  @Test
  void callsOfOneThatDoesNotFailAtOnceUntilItDoes() {
    AtomicReference<Optional<JumpgateException>> answer = new AtomicReference<>(Optional.of(SILENT));
    Thread caller = Thread.currentThread();
    CountDownLatch watched = new CountDownLatch(1);
    AtomicInteger asked = new AtomicInteger();
    try (Pulse pulse = new Pulse(() -> {
      if (Thread.currentThread() == caller) {
        asked.incrementAndGet();
      } else {
        watched.countDown();
      }
      return answer.get();
    })) {
      for (int i = 0; i < 3; i++) {
        assertEquals("nobody answers", assertThrows(JumpgateException.class, pulse::require).getMessage());
      }
      assertEquals(1, asked.get(), "the caller has waited once");
      assertTimeoutPreemptively(Duration.ofSeconds(60), () -> watched.await());
      answer.set(Optional.empty());
      assertTimeoutPreemptively(Duration.ofSeconds(60), () -> {
        while (true) {
          try {
            pulse.require();
            return;
          } catch (JumpgateException e) {
            Thread.onSpinWait();
          }
        }
      });
    }
  }
}
