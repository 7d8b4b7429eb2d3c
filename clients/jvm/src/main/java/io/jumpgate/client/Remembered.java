package io.jumpgate.client;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** Answers to questions that are asked often, of which those of the last time are remembered. Thread-safe. */
final class Remembered<Q, A> {
  private static final int ANSWERS_MAX = 4096;

  /** What was answered, and when. */
  private record Known<A>(A answer, long nanos) {}

  private final Function<Q, A> ask;
  private final long freshNanos;
  private final Map<Q, Known<A>> known = new LinkedHashMap<>() {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Q, Known<A>> eldest) {
      return size() > ANSWERS_MAX;
    }
  };

  /** {@code ask} answers what is not known, or was answered longer ago than {@code fresh}. */
  Remembered(Function<Q, A> ask, Duration fresh) {
    this.ask = ask;
    this.freshNanos = fresh.toNanos();
  }

  /** Raises what {@code ask} raises, which is not remembered. */
  A of(Q question) {
    synchronized (known) {
      Known<A> found = known.get(question);
      if (found != null && System.nanoTime() - found.nanos < freshNanos) {
        return found.answer;
      }
    }
    A answer = ask.apply(question);
    synchronized (known) {
      known.put(question, new Known<>(answer, System.nanoTime()));
    }
    return answer;
  }
}
