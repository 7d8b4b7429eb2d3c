package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Endpoint;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.ntf.ReadAhead;
import io.jumpgate.v1.Part;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;

/** A receiver's part of the rows of one job, which begin to come once it is known. */
final class Attempt implements AutoCloseable {
  private static final int FRAMES_AHEAD = 4;

  private final Endpoint endpoint;
  private Job job;
  private ReadAhead frames;

  /** Listens at an address of this machine. */
  Attempt(String host, MemoryAccount memory) {
    endpoint = Endpoint.open(new InetSocketAddress(host, 0), host, memory);
  }

  String address() {
    return endpoint.address();
  }

  void begin(Part part) {
    job = Job.of(part.getJob());
    endpoint.expect(new Expected(
        job.id(), job.edge(), job.token(), job.descriptor(), job.producers(), part.getPartition(), job.certificate()));
    frames = new ReadAhead(endpoint, FRAMES_AHEAD);
  }

  boolean hasBegun() {
    return frames != null;
  }

  Job job() {
    return job;
  }

  /** Done when a frame has come, or none will. */
  CompletableFuture<Void> ready() {
    return frames.ready();
  }

  boolean hasFrame() {
    return frames.hasFrame();
  }

  /** The next frame; null if there is none yet, or no more. Raises what has become of the edge. */
  ColumnarFrame poll() {
    return (ColumnarFrame) frames.poll();
  }

  /** Whether all frames were handed out; the job may not have ended yet. */
  boolean isFinished() {
    return frames.isFinished();
  }

  long bytes() {
    return endpoint.bytes();
  }

  /** Throws away what comes. */
  void drain() {
    if (frames != null) {
      frames.drain();
    }
  }

  @Override
  public void close() {
    if (frames == null) {
      endpoint.close();
    } else {
      frames.close();
    }
  }
}
