package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Tells whether a service answers. After silence it asks again by itself; until an answer comes, every call fails at
 * once.
 */
final class Pulse implements AutoCloseable {
  /** What answered so recently is not asked whether it does. */
  private static final Duration FRESH = Duration.ofSeconds(1);
  private static final Duration BETWEEN = Duration.ofMillis(300);

  private final Supplier<Optional<JumpgateException>> probe;
  private JumpgateException silent;
  private Optional<Long> heardAt = Optional.empty();
  private boolean closed;

  /** {@code probe}: why there is no answer, after a short while; none if there is one. */
  Pulse(Supplier<Optional<JumpgateException>> probe) {
    this.probe = probe;
  }

  /** Returns if the service answers, else raises why not. */
  void require() {
    synchronized (this) {
      if (silent != null) {
        throw new JumpgateException(silent.code(), silent.getMessage(), silent.fields());
      }
      if (heardAt.isPresent() && System.nanoTime() - heardAt.get() < FRESH.toNanos()) {
        return;
      }
    }
    Optional<JumpgateException> error = probe.get();
    if (error.isEmpty()) {
      heard();
      return;
    }
    fell(error.get());
    throw error.get();
  }

  private synchronized void heard() {
    silent = null;
    heardAt = Optional.of(System.nanoTime());
  }

  private synchronized void fell(JumpgateException error) {
    if (silent == null && !closed) {
      silent = error;
      Thread watcher = new Thread(this::watch, "jumpgate-pulse");
      watcher.setDaemon(true);
      watcher.start();
    }
  }

  private void watch() {
    while (waited()) {
      if (probe.get().isEmpty()) {
        heard();
        return;
      }
    }
  }

  /** False once this is closed. */
  private synchronized boolean waited() {
    long until = System.nanoTime() + BETWEEN.toNanos();
    try {
      for (long left; !closed && (left = until - System.nanoTime()) > 0;) {
        wait(left / 1_000_000 + 1);
      }
    } catch (InterruptedException e) {
      return false;
    }
    return !closed;
  }

  @Override
  public synchronized void close() {
    closed = true;
    notifyAll();
  }
}
