package io.jumpgate.client;

import io.grpc.stub.StreamObserver;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.v1.Enough;
import io.jumpgate.v1.JoinGroup;
import io.jumpgate.v1.Part;
import io.jumpgate.v1.ReceiveRequest;
import io.jumpgate.v1.ReceiveResponse;
import io.jumpgate.v1.SubmitRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Logger;

/**
 * A result, or a share of it, for an engine whose threads never wait: no method does. The service runs the job, and
 * once more without a device that failed before a frame of any share was handed out. Thread-safe.
 */
public final class Reception implements AutoCloseable {
  private static final Logger LOG = Logger.getLogger(Reception.class.getName());
  /** Longer than a service waits for the cause of what it sees itself. */
  private static final int CAUSE_SECONDS = 8;

  private final Unsent unsent;
  private final Share share;
  private final String host;
  private final Runnable onRetry;
  private final Held held = new Held();
  private final StreamObserver<ReceiveRequest> service; // with the lock: it takes one step at a time
  private Attempt attempt;
  private CompletableFuture<Void> changed = new CompletableFuture<>();
  private boolean kept; // frames may be handed out
  private JumpgateException seen; // of the edge: the service is about to say why
  private JumpgateException failure;
  private boolean ended; // the job, as it should
  private boolean closed;

  private Reception(JumpgateClient client, Unsent unsent, Share share, String host, Runnable onRetry) {
    this.unsent = unsent;
    this.share = share;
    this.host = host;
    this.onRetry = onRetry;
    synchronized (this) {
      attempt = new Attempt(host, held);
      try {
        service = client.receive(new Told());
      } catch (RuntimeException e) {
        attempt.close();
        throw e;
      }
      join();
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
   * Asks for the rows; producers connect to {@code host}, an address of this machine. {@code onRetry}: called when the
   * job is run again. Raises {@code unreachable} where that address cannot be listened at.
   */
  public static Reception open(JumpgateClient client, Unsent unsent, Share share, String host, Runnable onRetry) {
    return new Reception(client, unsent, share, host, onRetry);
  }

  /** The columns of every frame, once there is one. */
  public synchronized List<Field> fields() {
    return attempt.job().descriptor().fields();
  }

  /** The next frame, which the caller closes; null if there is none yet, or no more. Raises the job's error. */
  public synchronized ColumnarFrame poll() {
    if (failure != null) {
      throw failure;
    }
    if (!readable()) {
      return null;
    }
    try {
      return attempt.poll();
    } catch (JumpgateException e) {
      if (ended) {
        throw e;
      }
      see(e);
      return null;
    }
  }

  /** Done when {@link #poll} may have something to give or to raise, or is to say that it is finished. */
  public synchronized CompletableFuture<?> ready() {
    if (failure != null || isFinished()) {
      return CompletableFuture.completedFuture(null);
    }
    return readable() && !attempt.isFinished() ? CompletableFuture.anyOf(attempt.ready(), changed) : changed;
  }

  /** Whether every frame was handed out, and the job has ended as it should. */
  public synchronized boolean isFinished() {
    return ended && failure == null && (!attempt.hasBegun() || attempt.isFinished());
  }

  /** Of what has come. */
  public synchronized long bytes() {
    return attempt.bytes();
  }

  /** Of frames that are held here, or not closed. */
  public long heldBytes() {
    return held.bytes.get();
  }

  /** Ends the job, unless others receive from it: then what still comes is thrown away. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (ended || failure != null) {
      attempt.close();
    } else {
      attempt.drain();
      service.onNext(ReceiveRequest.newBuilder().setEnough(Enough.getDefaultInstance()).build());
    }
  }

  private boolean readable() {
    return attempt.hasBegun() && seen == null && (kept || ended);
  }

  private void join() {
    SubmitRequest request =
        SubmitRequest.newBuilder()
            .setDataflow(unsent.send(List.of(attempt.address()), Partitioning.SINGLE, Layout.COLUMNAR))
            .build();
    JoinGroup join =
        JoinGroup.newBuilder().setRequest(request).setGroup(share.group()).setReceiver(share.receiver()).build();
    service.onNext(ReceiveRequest.newBuilder().setJoin(join).build());
  }

  /** An edge broke: if the service does not say soon why, that is all that is known. */
  private void see(JumpgateException error) {
    Attempt of = attempt;
    seen = error;
    CompletableFuture.delayedExecutor(CAUSE_SECONDS, TimeUnit.SECONDS).execute(() -> {
      synchronized (this) {
        if (attempt == of && failure == null) {
          failure = error;
        }
      }
      signal();
    });
  }

  /** Wakes who waits for {@link #ready}; without the lock. */
  private void signal() {
    CompletableFuture<Void> waiting;
    synchronized (this) {
      waiting = changed;
      changed = new CompletableFuture<>();
    }
    waiting.complete(null);
  }

  private final class Told implements JumpgateClient.ReceiveListener {
    @Override
    public void hear(ReceiveResponse response) {
      synchronized (Reception.this) {
        try {
          switch (response.getStepCase()) {
            case PART -> begin(response.getPart());
            case KEEP -> kept = true;
            case AGAIN -> again(response.getAgain());
            default -> {
            } // of a later version: nothing that rows depend on
          }
        } catch (JumpgateException e) {
          failure = e;
          attempt.close();
          service.onError(e); // or it would wait, and the others with it
        }
      }
      signal();
    }

    @Override
    public void fail(JumpgateException error) {
      synchronized (Reception.this) {
        if (failure == null) {
          failure = error;
        }
        attempt.close();
      }
      signal();
    }

    @Override
    public void end() {
      synchronized (Reception.this) {
        ended = true;
        if (closed || !attempt.hasBegun()) {
          attempt.close();
        }
      }
      signal();
    }

    private void begin(Part part) {
      Attempt begun = attempt;
      begun.begin(part);
      if (closed) {
        begun.drain();
      } else {
        begun.ready().thenRun(() -> firstCame(begun));
      }
    }

    private void again(String why) {
      LOG.warning(why);
      onRetry.run();
      attempt.close();
      seen = null;
      if (!closed) {
        attempt = new Attempt(host, held);
        join();
      }
    }

    /** Asks whether a frame may be handed out; where none but an error came, the service is about to say why. */
    private void firstCame(Attempt of) {
      synchronized (Reception.this) {
        if (attempt != of || closed || ended || failure != null || of.isFinished()) {
          return;
        }
        if (of.hasFrame()) {
          service.onNext(ReceiveRequest.newBuilder().setHandOut(of.job().id()).build());
          return;
        }
        try {
          of.poll();
        } catch (JumpgateException e) {
          see(e);
        }
      }
    }
  }
}
