package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.CANCELLED;
import static io.jumpgate.ErrorCode.PROTOCOL;
import static io.jumpgate.ErrorCode.UNREACHABLE;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Layout;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Receives one partition of one edge. Open it, put {@link #address} into the request, say what to expect, then call
 * {@link #next} until it returns null.
 *
 * <p>Producers are let in as they come, also while nobody reads; what they send waits with them until somebody does: an
 * endpoint holds no whole frame that it has not handed out, and at most one of each producer that is still coming.
 * {@link #next} waits for the first producer as long as it takes (the job's execution knows whether one will come;
 * close with its error when it will not). It returns null after the last producer's end, whose counts and checksum
 * matched what came; it raises {@code protocol} where bytes or ends disagree, {@code unreachable} where a producer
 * vanishes, aborts, or does not come though another did, {@code memory} where the account refuses, {@code cancelled}
 * when the reading thread is interrupted.
 */
public final class Endpoint implements AutoCloseable {
  private static final int BACKLOG = 64;
  private static final int WINDOW_BYTES = 4 << 20; // a sender may be so far ahead, where the system allows it
  private static final long STALL_S = 30; // for the rest of a frame that has begun

  private final ServerSocketChannel listener;
  private final String address;
  private final Selector selector;
  private final BufferPool pool;
  private final Deque<Stream> readable = new ArrayDeque<>(); // of the reader: streams that may have more, in turn
  private volatile long rows;
  private volatile long bytes;

  private final Object lock = new Object(); // of what follows
  private final List<Stream> streams = new ArrayList<>();
  private final List<Stream> arrived = new ArrayList<>(); // those that the reader has not seen yet
  private Expected expected;
  private Greeter greeter;
  private ColumnarLayout columnar;
  private RowLayout row;
  private int ended;
  private boolean reading;
  private boolean closed;
  private JumpgateException reason;

  private Endpoint(ServerSocketChannel listener, Selector selector, String advertisedHost, MemoryAccount memory)
      throws IOException {
    this.listener = listener;
    this.selector = selector;
    int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
    this.address = (advertisedHost.contains(":") ? "[" + advertisedHost + "]" : advertisedHost) + ":" + port;
    this.pool = new BufferPool(memory);
  }

  /**
   * Listens. {@code advertisedHost} is what producers connect to. Raises {@code unreachable} if the address cannot be
   * had.
   */
  public static Endpoint open(InetSocketAddress bind, String advertisedHost, MemoryAccount memory) {
    ServerSocketChannel listener = null;
    try {
      listener = ServerSocketChannel.open();
      if (Sockets.receiveBytesMax() >= WINDOW_BYTES) { // else the system's own tuning is better than a small window
        listener.setOption(StandardSocketOptions.SO_RCVBUF, WINDOW_BYTES);
      }
      listener.bind(bind, BACKLOG);
      return new Endpoint(listener, Selector.open(), advertisedHost, memory);
    } catch (IOException | RuntimeException e) {
      if (listener != null) {
        Sockets.close(listener);
      }
      throw new JumpgateException(UNREACHABLE, "cannot listen at %s: %s".formatted(bind, e.getMessage()));
    }
  }

  /** Listens at one of the ports. Raises {@code unreachable} if none can be had. */
  public static Endpoint open(String host, Ports ports, MemoryAccount memory) {
    JumpgateException failure = null;
    for (int port : ports.inTurn().toArray()) {
      try {
        return open(new InetSocketAddress(host, port), host, memory);
      } catch (JumpgateException e) {
        failure = e;
      }
    }
    throw ports == Ports.ANY
        ? failure
        : new JumpgateException(UNREACHABLE, "no port of %s is free: %s".formatted(ports, failure.getMessage()));
  }

  /** host:port, for the request's Send. */
  public String address() {
    return address;
  }

  /** Says who will connect, and lets them in from now on. */
  public void expect(Expected wanted) {
    synchronized (lock) {
      raiseIfClosed();
      if (expected != null) {
        throw new IllegalStateException("an endpoint receives one edge");
      }
      expected = wanted;
      if (wanted.descriptor().layout() == Layout.COLUMNAR) {
        columnar = new ColumnarLayout(wanted.descriptor().fields());
      } else {
        row = new RowLayout(wanted.descriptor());
      }
      try {
        greeter = new Greeter(listener, wanted, new Door());
      } catch (IOException e) {
        throw new JumpgateException(UNREACHABLE, "cannot listen at %s: %s".formatted(address, e.getMessage()));
      }
    }
  }

  /**
   * The next frame, of whichever producer; null once all have ended. One thread at a time. The caller closes the
   * frame.
   */
  public Frame next() {
    synchronized (lock) {
      if (expected == null) {
        throw new IllegalStateException("expect() says which edge an endpoint receives");
      }
      if (ended == expected.producers()) {
        return null;
      }
      raiseIfClosed();
      if (reading) {
        throw new IllegalStateException("one thread at a time reads an endpoint");
      }
      reading = true;
    }
    JumpgateException failure = null;
    try {
      Frame frame = receive();
      if (frame == null) {
        close(null);
      }
      return frame;
    } catch (JumpgateException error) {
      failure = error;
      throw error;
    } catch (IOException error) {
      failure = new JumpgateException(UNREACHABLE, "edge '%s': %s".formatted(expected.edge(), error));
      throw failure;
    } finally {
      if (failure != null) {
        tellProducers(failure);
        close(failure);
      }
      synchronized (lock) {
        reading = false;
        if (closed) {
          release();
        }
      }
    }
  }

  /** Rows received so far. */
  public long rows() {
    return rows;
  }

  /** Bytes received so far, with headers. */
  public long bytes() {
    return bytes;
  }

  /**
   * Closes every socket; whoever reads gets {@code why}, or {@code cancelled} for null. May be called twice, from any
   * thread.
   */
  public void close(JumpgateException why) {
    Greeter greeting;
    synchronized (lock) {
      reason = reason == null ? why : reason;
      greeting = greeter;
      if (!closed) {
        closed = true;
        selector.wakeup();
        if (!reading) {
          release();
        }
        if (greeting == null) {
          Sockets.close(listener);
        }
      }
    }
    if (greeting != null) {
      greeting.stop(); // without the lock: its thread may be waiting for it
    }
  }

  /** Closes; whoever reads gets {@code cancelled}. Frames that were handed out stay until they are released. */
  @Override
  public void close() {
    close(null);
  }

  // receiving

  private Frame receive() throws IOException {
    while (true) {
      select();
      Stream stream = readable.poll();
      if (stream == null) {
        continue;
      }
      Stream.Received received = readFrom(stream);
      if (received == null) {
        continue;
      }
      try {
        Frame frame = understand(stream, received);
        if (frame != null) {
          readable.add(stream);
          return frame;
        }
      } catch (JumpgateException error) {
        throw at(stream, error);
      }
      if (drop(stream)) {
        return null;
      }
    }
  }

  /** Finds out which streams have something, waiting only if none is known to. */
  private void select() throws IOException {
    if (readable.isEmpty()) {
      selector.select(stallMs());
    } else {
      selector.selectNow();
    }
    synchronized (lock) {
      raiseIfClosed();
      if (Thread.currentThread().isInterrupted()) {
        throw new JumpgateException(CANCELLED, "edge '%s': its reader was interrupted".formatted(expected.edge()));
      }
      for (Stream stream : arrived) {
        stream.connection.socket.register(selector, SelectionKey.OP_READ, stream);
        readable.add(stream);
      }
      arrived.clear();
    }
    for (SelectionKey key : selector.selectedKeys()) {
      Stream stream = (Stream) key.attachment();
      if (key.isValid() && !readable.contains(stream)) {
        readable.add(stream);
      }
    }
    selector.selectedKeys().clear();
  }

  private Stream.Received readFrom(Stream stream) {
    try {
      return stream.read();
    } catch (JumpgateException error) {
      throw at(stream, error);
    } catch (IOException gone) {
      throw at(stream, new JumpgateException(UNREACHABLE, "it vanished before the end of its stream"));
    }
  }

  /** The frame of DATA; null at the stream's end. */
  private Frame understand(Stream stream, Stream.Received received) {
    FrameHeader header = received.header();
    BufferPool.PooledBuffer payload = received.payload();
    boolean handedOut = false;
    try {
      bytes += FrameHeader.BYTES + header.length();
      switch (header.kind()) {
        case DATA -> {
          stream.checkSequence(header);
          Frame frame = columnar != null ? columnar.wrap(payload, header.rows()) : row.wrap(payload, header.rows());
          stream.count(header);
          rows += header.rows();
          handedOut = true;
          return frame;
        }
        case END -> {
          stream.checkSequence(header);
          stream.checkEnd(payload.bytes());
          return null;
        }
        case ERROR -> throw new JumpgateException(UNREACHABLE, Greeting.message(payload.bytes()));
        default -> throw new JumpgateException(PROTOCOL, "a frame of kind " + header.kind() + " after the handshake");
      }
    } finally {
      if (!handedOut) {
        payload.release();
      }
    }
  }

  /**
   * How long to wait before a frame that has begun must be looked at; 0: as long as it takes. Raises {@code
   * unreachable}.
   */
  private long stallMs() {
    long untilNs = Long.MAX_VALUE;
    List<Stream> all;
    synchronized (lock) {
      all = List.copyOf(streams);
    }
    for (Stream stream : all) {
      if (stream.isAmidFrame()) {
        long leftNs = TimeUnit.SECONDS.toNanos(STALL_S) - (System.nanoTime() - stream.progressNs());
        if (leftNs < 0) {
          throw at(
              stream, new JumpgateException(UNREACHABLE, "it sent nothing for %d s amid a frame".formatted(STALL_S)));
        }
        untilNs = Math.min(untilNs, leftNs);
      }
    }
    return untilNs == Long.MAX_VALUE ? 0 : untilNs / 1_000_000 + 1;
  }

  private JumpgateException at(Stream stream, JumpgateException error) {
    return new JumpgateException(error.code(),
        "edge '%s': producer %d: %s".formatted(expected.edge(), stream.producer, error.getMessage()),
        Map.of("edge", expected.edge(), "producer", String.valueOf(stream.producer)));
  }

  // connections

  private final class Door implements Greeter.Door {
    @Override
    public void admit(int producer, Connection connection) {
      synchronized (lock) {
        if (closed) {
          Sockets.close(connection);
          return;
        }
        Stream stream = new Stream(connection, producer, pool);
        streams.add(stream);
        arrived.add(stream);
      }
      selector.wakeup();
    }

    @Override
    public void fail(JumpgateException error) {
      close(error);
    }
  }

  /** After a stream's end; whether it was the last one. */
  private boolean drop(Stream stream) {
    stream.close();
    synchronized (lock) {
      streams.remove(stream);
      ended++;
      return ended == expected.producers();
    }
  }

  private void tellProducers(JumpgateException failure) {
    synchronized (lock) {
      streams.forEach(stream -> Sockets.tell(stream.connection, Greeting.error(failure)));
    }
  }

  /** With the lock, when nobody reads. */
  private void release() {
    streams.forEach(Stream::close);
    streams.clear();
    arrived.clear();
    readable.clear();
    Sockets.close(selector);
    pool.close();
  }

  private void raiseIfClosed() {
    if (closed) {
      throw reason != null
          ? reason
          : new JumpgateException(CANCELLED,
                expected == null ? "closed" : "edge '%s' was closed while it was read".formatted(expected.edge()));
    }
  }
}
