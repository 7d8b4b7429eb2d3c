package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Endpoint;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.ntf.ReadAhead;
import io.jumpgate.v1.SubmitRequest;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** The whole result of a job of its own, for an engine whose threads never wait. Closing it ends the job. */
public final class Reception implements AutoCloseable {
  private static final int FRAMES_AHEAD = 4;

  private final List<Field> fields;
  private final Endpoint endpoint;
  private final Execution execution;
  private final ReadAhead frames;
  private final Held held;
  private boolean finished;

  private Reception(List<Field> fields, Endpoint endpoint, Execution execution, Held held) {
    this.fields = fields;
    this.endpoint = endpoint;
    this.execution = execution;
    this.frames = new ReadAhead(endpoint, FRAMES_AHEAD);
    this.held = held;
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

  /** Submits and starts the job; producers connect to {@code host}, an address of this machine. */
  public static Reception open(JumpgateClient client, Unsent unsent, String host) {
    Held held = new Held();
    Endpoint endpoint = Endpoint.open(new InetSocketAddress(host, 0), host, held);
    try {
      SubmitRequest.Builder request = SubmitRequest.newBuilder();
      request.setDataflow(unsent.send(List.of(endpoint.address()), Partitioning.SINGLE, Layout.COLUMNAR));
      Job job = client.submit(request.build());
      endpoint.expect(
          new Expected(job.id(), job.edge(), job.token(), job.descriptor(), job.producers(), 0, job.certificate()));
      Execution execution = client.execute(job.id(), event -> {});
      execution.onFailure(endpoint::close);
      return new Reception(job.descriptor().fields(), endpoint, execution, held);
    } catch (JumpgateException e) {
      endpoint.close();
      throw e;
    }
  }

  /** The columns of every frame. */
  public List<Field> fields() {
    return fields;
  }

  /**
   * The next frame, which the caller closes; null if there is none yet, or no more. Raises the job's error; waits for
   * it, or for the job's end, once all has come.
   */
  public ColumnarFrame poll() {
    try {
      try {
        ColumnarFrame frame = (ColumnarFrame) frames.poll();
        if (frame == null && frames.isFinished() && !finished) {
          execution.await(); // what came counts only then
          finished = true;
        }
        return frame;
      } catch (JumpgateException e) {
        throw execution.cause(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JumpgateException(JumpgateException.CANCELLED, "interrupted while the job ended");
    }
  }

  /** Done as soon as {@link #poll} has something to give or to raise, or is to say that it is finished. */
  public CompletableFuture<Void> ready() {
    return frames.ready();
  }

  /** Whether every frame was handed out, and the job has ended as it should. */
  public boolean isFinished() {
    return finished;
  }

  /** Of what has come. */
  public long bytes() {
    return endpoint.bytes();
  }

  /** Of frames that are held here, or not closed. */
  public long heldBytes() {
    return held.bytes.get();
  }

  @Override
  public void close() {
    execution.cancel();
    frames.close();
  }
}
