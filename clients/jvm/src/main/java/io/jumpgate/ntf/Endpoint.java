package io.jumpgate.ntf;

import io.jumpgate.JumpgateException;
import java.net.InetSocketAddress;

/**
 * Receives one partition of one edge. Open it, put {@link #address} into the request, say what to expect, then call {@link #next}
 * until it returns null.
 *
 * <p>Producers are let in as they come, also while nobody reads; what they send waits with them until somebody does: an endpoint
 * holds no frame that it has not handed out. {@link #next} waits for the first producer as long as it takes (the job's execution
 * knows whether one will come; close with its error when it will not). It returns null after the last producer's end, whose counts
 * and checksum matched what came; it raises {@code protocol} where bytes or ends disagree, {@code unreachable} where a producer
 * vanishes, aborts, or does not come though another did, {@code memory} where the account refuses.
 */
public final class Endpoint implements AutoCloseable {
  private Endpoint() {}

  /** Listens. {@code advertisedHost} is what producers connect to. Raises {@code unreachable} if the address cannot be had. */
  public static Endpoint open(InetSocketAddress bind, String advertisedHost, MemoryAccount memory) {
    throw new UnsupportedOperationException();
  }

  /** host:port, for the request's Send. */
  public String address() {
    throw new UnsupportedOperationException();
  }

  /** Says who will connect, and lets them in from now on. */
  public void expect(Expected expected) {
    throw new UnsupportedOperationException();
  }

  /** The next frame, of whichever producer; null once all have ended. One thread at a time. The caller closes the frame. */
  public Frame next() {
    throw new UnsupportedOperationException();
  }

  /** Rows received so far. */
  public long rows() {
    throw new UnsupportedOperationException();
  }

  /** Bytes received so far, with headers. */
  public long bytes() {
    throw new UnsupportedOperationException();
  }

  /** Closes every socket; whoever reads gets {@code reason}. May be called twice, from any thread. */
  public void close(JumpgateException reason) {
    throw new UnsupportedOperationException();
  }

  /** Closes with {@code cancelled}. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
