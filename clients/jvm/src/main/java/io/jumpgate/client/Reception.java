package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.MemoryAccount;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The whole result of a job of its own, for an engine whose threads never wait. If a device fails before any frame was
 * handed out, another job, without that device, takes over, once. Closing it ends the job.
 */
public final class Reception implements AutoCloseable {
  private final JumpgateClient client;
  private final Unsent unsent;
  private final String host;
  private final Held held = new Held();
  private final Runnable onRetry;
  private Attempt attempt;
  private boolean retried;
  private boolean delivered;

  private Reception(JumpgateClient client, Unsent unsent, String host, Runnable onRetry) {
    this.client = client;
    this.unsent = unsent;
    this.host = host;
    this.onRetry = onRetry;
    try {
      attempt = start(List.of());
    } catch (JumpgateException e) {
      attempt = startAgain(e);
    }
  }

  /** The memory of frames that have arrived and were not closed. */
  private static final class Held implements MemoryAccount {
    private final AtomicLong bytes = new AtomicLong();

    @Override
    public void acquire(long taken) {
      bytes.addAndGet(taken);
    }

    @Override
    public void release(long given) {
      bytes.addAndGet(-given);
    }
  }

  /**
   * Submits and starts the job; producers connect to {@code host}, an address of this machine. {@code onRetry}: called
   * when another job takes over.
   */
  public static Reception open(JumpgateClient client, Unsent unsent, String host, Runnable onRetry) {
    return new Reception(client, unsent, host, onRetry);
  }

  /** The columns of every frame. */
  public List<Field> fields() {
    return attempt.job.descriptor().fields();
  }

  /**
   * The next frame, which the caller closes; null if there is none yet, or no more. Raises the job's error; waits for
   * it, or for the job's end, once all has come.
   */
  public ColumnarFrame poll() {
    try {
      ColumnarFrame frame = attempt.poll();
      delivered |= frame != null;
      return frame;
    } catch (JumpgateException e) {
      attempt.close();
      attempt = startAgain(e);
      return null;
    }
  }

  /** Done as soon as {@link #poll} has something to give or to raise, or is to say that it is finished. */
  public CompletableFuture<Void> ready() {
    return attempt.frames.ready();
  }

  /** Whether every frame was handed out, and the job has ended as it should. */
  public boolean isFinished() {
    return attempt.isFinished();
  }

  /** Of what has come. */
  public long bytes() {
    return attempt.endpoint.bytes();
  }

  /** Of frames that are held here, or not closed. */
  public long heldBytes() {
    return held.bytes.get();
  }

  @Override
  public void close() {
    attempt.close();
  }

  /** Raises the failure, unless another job may do better. */
  private Attempt startAgain(JumpgateException failure) {
    if (delivered || retried || !Retry.mayHelp(failure)) {
      throw failure;
    }
    retried = true;
    onRetry.run();
    return Retry.after(failure, this::start);
  }

  private Attempt start(List<String> without) {
    return Attempt.start(client, unsent, host, held, without);
  }
}
