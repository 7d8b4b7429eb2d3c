package io.jumpgate.presto;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.block.Block;
import com.facebook.presto.spi.ConnectorPageSource;
import io.jumpgate.JumpgateException;
import io.jumpgate.client.Execution;
import io.jumpgate.client.Job;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Endpoint;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.Frame;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.ntf.ReadAhead;
import io.jumpgate.v1.SubmitRequest;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** A job's rows as pages. Closing it ends the job. */
final class JumpgatePageSource implements ConnectorPageSource {
  private static final int FRAMES_AHEAD = 4;

  private final List<Field> fields;
  private final Endpoint endpoint;
  private final Execution execution;
  private final ReadAhead frames;
  private final Held held;
  private long rows;
  private boolean finished;

  private JumpgatePageSource(List<Field> fields, Endpoint endpoint, Execution execution, Held held) {
    this.fields = fields;
    this.held = held;
    this.endpoint = endpoint;
    this.execution = execution;
    this.frames = new ReadAhead(endpoint, FRAMES_AHEAD);
  }

  /** The memory of frames that have arrived and are not yet pages. */
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

  /** Submits the job of which these are the columns and starts it. Raises PrestoException. */
  static JumpgatePageSource open(JumpgateClient client, Requests requests, String host) {
    Held held = new Held();
    Endpoint endpoint = open(host, held);
    try {
      Job job = client.submit(SubmitRequest.newBuilder().setDataflow(requests.sendTo(endpoint.address())).build());
      endpoint.expect(
          new Expected(job.id(), job.edge(), job.token(), job.descriptor(), job.producers(), 0, job.certificate()));
      Execution execution = client.execute(job.id(), event -> {});
      execution.onFailure(endpoint::close);
      return new JumpgatePageSource(requests.fields(), endpoint, execution, held);
    } catch (JumpgateException e) {
      endpoint.close();
      throw JumpgateErrorCode.explain(e);
    }
  }

  private static Endpoint open(String host, MemoryAccount account) {
    try {
      return Endpoint.open(new InetSocketAddress(host, 0), host, account);
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(e);
    }
  }

  @Override
  public Page getNextPage() {
    try {
      return next();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw JumpgateErrorCode.explain(
          new JumpgateException(JumpgateException.CANCELLED, "interrupted while the job ended"));
    }
  }

  private Page next() throws InterruptedException {
    try (Frame frame = frames.poll()) {
      if (frame == null) {
        if (frames.isFinished() && !finished) {
          execution.await(); // what came counts only then
          finished = true;
        }
        return null;
      }
      rows += frame.rows();
      Block[] blocks = new Block[fields.size()];
      for (int i = 0; i < blocks.length; i++) {
        blocks[i] = Columns.block(fields.get(i), ((ColumnarFrame) frame).column(i), frame.rows());
      }
      return new Page(frame.rows(), blocks);
    } catch (JumpgateException e) {
      throw JumpgateErrorCode.explain(execution.cause(e));
    }
  }

  @Override
  public CompletableFuture<?> isBlocked() {
    return frames.ready();
  }

  @Override
  public boolean isFinished() {
    return finished;
  }

  @Override
  public long getCompletedBytes() {
    return endpoint.bytes();
  }

  @Override
  public long getCompletedPositions() {
    return rows;
  }

  @Override
  public long getReadTimeNanos() {
    return 0;
  }

  @Override
  public long getSystemMemoryUsage() {
    return held.bytes.get();
  }

  @Override
  public void close() {
    execution.cancel();
    frames.close();
  }
}
