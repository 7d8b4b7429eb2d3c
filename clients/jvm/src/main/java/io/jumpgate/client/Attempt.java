package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.dataflow.Partitioning;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Endpoint;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.ntf.ReadAhead;
import io.jumpgate.v1.Options;
import io.jumpgate.v1.SubmitRequest;
import java.net.InetSocketAddress;
import java.util.List;

/** One job that computes a result, and its rows as they come. */
final class Attempt implements AutoCloseable {
  private static final int FRAMES_AHEAD = 4;

  final Job job;
  final Endpoint endpoint;
  final ReadAhead frames;
  private final Execution execution;
  private boolean finished;

  private Attempt(Job job, Endpoint endpoint, Execution execution) {
    this.job = job;
    this.endpoint = endpoint;
    this.execution = execution;
    this.frames = new ReadAhead(endpoint, FRAMES_AHEAD);
  }

  /** Submits and starts the job, which leaves the devices of {@code without} alone. */
  static Attempt start(JumpgateClient client, Unsent unsent, String host, MemoryAccount memory, List<String> without) {
    Endpoint endpoint = Endpoint.open(new InetSocketAddress(host, 0), host, memory);
    try {
      SubmitRequest request =
          SubmitRequest.newBuilder()
              .setDataflow(unsent.send(List.of(endpoint.address()), Partitioning.SINGLE, Layout.COLUMNAR))
              .setOptions(Options.newBuilder().addAllWithout(without))
              .build();
      Job job = client.submit(request);
      endpoint.expect(
          new Expected(job.id(), job.edge(), job.token(), job.descriptor(), job.producers(), 0, job.certificate()));
      Execution execution = client.execute(job.id(), event -> {});
      execution.onFailure(endpoint::close);
      return new Attempt(job, endpoint, execution);
    } catch (JumpgateException e) {
      endpoint.close();
      throw e;
    }
  }

  /** As {@link Reception#poll}. */
  ColumnarFrame poll() {
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

  boolean isFinished() {
    return finished;
  }

  @Override
  public void close() {
    execution.cancel();
    frames.close();
  }
}
