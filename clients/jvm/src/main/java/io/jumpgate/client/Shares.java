package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Estimate;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

/** Deals results out to several receivers, which run at once on an engine's workers. {@code workers}: how many. */
public record Shares(JumpgateClient client, Estimates estimates, IntSupplier workers) {
  /** A session's choice: as many as are worth it. */
  public static final int AUTOMATIC = 0;
  public static final int MAX = 1024;
  /** Of that choice. */
  public static final String DESCRIPTION =
      "how many of the workers' threads share a result; 0: one for each core, fewer where few rows are expected";
  /** Fewer are received by one thread before another one has begun. */
  private static final int ROWS_MIN = 250_000;
  /** Waits for the service, so that no thread of an engine does. */
  private static final Executor CALLS = Executors.newCachedThreadPool(call -> {
    Thread thread = new Thread(call, "jumpgate-shares");
    thread.setDaemon(true);
    return thread;
  });

  /**
   * As many shares of a result as are chosen: what {@code use} makes of them, soon. What the service has against it is
   * what {@code explain} makes of its error.
   */
  public <T> CompletableFuture<T> open(
      Unsent result, int chosen, Function<List<Share>, T> use, Function<JumpgateException, RuntimeException> explain) {
    CompletableFuture<T> opened = new CompletableFuture<>();
    CALLS.execute(() -> {
      try {
        opened.complete(use.apply(of(result, chosen)));
      } catch (JumpgateException e) {
        opened.completeExceptionally(explain.apply(e));
      } catch (Throwable e) { // errors of the virtual machine, too: somebody waits
        opened.completeExceptionally(e);
      }
    });
    return opened;
  }

  private List<Share> of(Unsent result, int chosen) {
    int count = chosen == AUTOMATIC ? worthwhile(result) : chosen;
    if (count == 1) {
      return List.of(Share.ALL);
    }
    String group = client.openGroup(count);
    return IntStream.range(0, count).mapToObj(receiver -> new Share(group, receiver)).toList();
  }

  /** One for each core of the workers, which are taken to be like this machine, but for small results. */
  private int worthwhile(Unsent result) {
    double rows = estimates.of(result).map(Estimate::getRows).orElse(0.0);
    int cores = Math.max(1, workers.getAsInt()) * Runtime.getRuntime().availableProcessors();
    return (int) Math.max(1, Math.min(Math.min(cores, MAX), rows / ROWS_MIN));
  }
}
