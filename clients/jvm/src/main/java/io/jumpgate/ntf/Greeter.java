package io.jumpgate.ntf;

import static io.jumpgate.ErrorCode.PROTOCOL;
import static io.jumpgate.ErrorCode.UNREACHABLE;

import io.jumpgate.JumpgateException;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The handshake at the receiving end of an edge, on a thread of its own: lets the producers in, whether or not anybody
 * reads yet, and nobody else. No number of strangers keeps producers out. Ends when all have come.
 */
final class Greeter {
  /** Gets each producer's connection, or the error of an edge that cannot be. On the greeter's thread. */
  interface Door {
    void admit(int producer, Connection connection);

    void fail(JumpgateException error);
  }

  private static final int HANDSHAKES_MAX = 64;
  private static final int PIECE_BYTES = 64 << 10;
  private static final long PAUSE_MS = 10; // after an accept that the system refused: no descriptors left

  private final ServerSocketChannel listener;
  private final Expected expected;
  private final Door door;
  private final Selector selector;
  private final Thread thread;
  private final Deque<Stranger> strangers = new ArrayDeque<>(); // the oldest first
  private final BitSet greeted = new BitSet();
  private final ByteBuffer piece = ByteBuffer.allocate(PIECE_BYTES);
  private Long othersByNs; // when every producer must have greeted
  private volatile boolean stopped;

  /** A connection that has not greeted. */
  private static final class Stranger {
    final Connection connection;
    final long deadlineNs;
    SelectionKey key;
    ByteBuffer greeting = ByteBuffer.allocate(FrameHeader.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    FrameHeader header;

    Stranger(Connection connection, long deadlineNs) {
      this.connection = connection;
      this.deadlineNs = deadlineNs;
    }
  }

  /** The listener is its own from now on. */
  Greeter(ServerSocketChannel listener, Expected expected, Door door) throws IOException {
    this.listener = listener;
    this.expected = expected;
    this.door = door;
    this.selector = Selector.open();
    listener.configureBlocking(false);
    listener.register(selector, SelectionKey.OP_ACCEPT);
    thread = new Thread(this::run, "jumpgate-greeter");
    thread.setDaemon(true);
    thread.start();
  }

  /** Ends it; all that it holds is closed when this returns. From any thread, also twice. */
  void stop() {
    stopped = true;
    selector.wakeup();
    boolean interrupted = false;
    while (thread != Thread.currentThread() && thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      greetAll();
    } catch (JumpgateException error) {
      door.fail(error);
    } catch (IOException | RuntimeException error) {
      door.fail(
          new JumpgateException(UNREACHABLE, "edge '%s': the handshake failed: %s".formatted(expected.edge(), error)));
    } finally {
      strangers.forEach(stranger -> Sockets.close(stranger.connection));
      Sockets.close(listener);
      Sockets.close(selector);
    }
  }

  private void greetAll() throws IOException {
    while (greeted.cardinality() < expected.producers() && !stopped) {
      selector.select(waitMs());
      List<SelectionKey> ready = new ArrayList<>(selector.selectedKeys());
      selector.selectedKeys().clear();
      for (SelectionKey key : ready) {
        if (!key.isValid()) {
          continue; // it made room for another
        }
        if (key.attachment() instanceof Stranger stranger) {
          hear(stranger);
        } else {
          accept();
        }
      }
      lookAtTheClock();
    }
  }

  private void accept() throws IOException {
    if (strangers.size() >= HANDSHAKES_MAX) {
      drop(strangers.getFirst());
    }
    SocketChannel connection;
    try {
      connection = listener.accept();
    } catch (IOException refused) {
      pause();
      return;
    }
    if (connection == null) {
      return;
    }
    connection.configureBlocking(false);
    connection.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    Stranger stranger =
        new Stranger(Connection.of(connection, expected), System.nanoTime() + expected.timeout().toNanos());
    stranger.key = connection.register(selector, SelectionKey.OP_READ, stranger);
    strangers.addLast(stranger);
  }

  private void hear(Stranger stranger) throws IOException {
    Greeting greeting;
    try {
      greeting = read(stranger);
      if (greeting == null) {
        return;
      }
      if (!greeting.isOf(expected)) {
        throw new JumpgateException(PROTOCOL, "the job or its token is not the one that is expected here");
      }
    } catch (JumpgateException error) {
      Sockets.tell(stranger.connection, Greeting.error(error));
      drop(stranger);
      return;
    } catch (IOException gone) {
      drop(stranger);
      return;
    }
    try {
      greeting.agree(expected);
      if (greeted.get(greeting.producer())) {
        throw new JumpgateException(PROTOCOL,
            "edge '%s': producer %d connected twice".formatted(expected.edge(), greeting.producer()),
            Map.of("edge", expected.edge()));
      }
    } catch (JumpgateException error) {
      Sockets.tell(stranger.connection, Greeting.error(error));
      throw error;
    }
    greeted.set(greeting.producer());
    if (othersByNs == null) {
      othersByNs = System.nanoTime() + expected.timeout().toNanos();
    }
    strangers.remove(stranger);
    stranger.key.cancel();
    selector.selectNow(); // forgets the key, so that whoever reads the connection can close it
    Sockets.tell(stranger.connection, Greeting.accept()); // if it has gone, the reader will see it
    door.admit(greeting.producer(), stranger.connection);
  }

  /**
   * The greeting once it is all there, else null when nothing more has come. Raises IOException if the connection
   * ended, {@code protocol} on other bytes.
   */
  private Greeting read(Stranger stranger) throws IOException {
    while (!isComplete(stranger)) {
      piece.clear().limit(Math.min(stranger.greeting.remaining(), PIECE_BYTES));
      long count = stranger.connection.read(piece);
      if (count < 0) {
        throw new EOFException();
      }
      if (count == 0) {
        return null;
      }
      stranger.greeting.put(piece.flip());
    }
    ByteBuffer payload =
        stranger.greeting.slice(FrameHeader.BYTES, stranger.header.length()).order(ByteOrder.LITTLE_ENDIAN);
    CRC32C checksum = new CRC32C();
    checksum.update(payload.duplicate());
    stranger.header.check(checksum, stranger.greeting);
    return Greeting.parse(payload);
  }

  /**
   * Whether the greeting is all there; else there is room for more of it. Raises {@code protocol} for another frame.
   */
  private static boolean isComplete(Stranger stranger) {
    if (stranger.header == null && !stranger.greeting.hasRemaining()) {
      stranger.header = FrameHeader.parse(stranger.greeting);
      if (stranger.header.kind() != FrameHeader.Kind.HELLO) {
        throw new JumpgateException(PROTOCOL, "the first frame is not a greeting");
      }
    }
    if (stranger.header == null) {
      return false;
    }
    int wanted = FrameHeader.BYTES + stranger.header.length();
    if (stranger.greeting.position() < wanted && !stranger.greeting.hasRemaining()) {
      // grows with what has come: a length that is only claimed reserves nothing
      int size = Math.min(wanted, stranger.greeting.position() + PIECE_BYTES);
      stranger.greeting = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN).put(stranger.greeting.flip());
    }
    return stranger.greeting.position() >= wanted;
  }

  private void drop(Stranger stranger) {
    strangers.remove(stranger);
    Sockets.close(stranger.connection);
  }

  /** How long nothing may happen until a deadline must be looked at; 0: as long as it takes. */
  private long waitMs() {
    long untilNs = Long.MAX_VALUE;
    long now = System.nanoTime();
    if (!strangers.isEmpty()) {
      untilNs = strangers.getFirst().deadlineNs - now;
    }
    if (othersByNs != null) {
      untilNs = Math.min(untilNs, othersByNs - now);
    }
    return untilNs == Long.MAX_VALUE ? 0 : Math.max(0, untilNs) / 1_000_000 + PAUSE_MS;
  }

  /** Drops who did not greet in time. Raises {@code unreachable} once producers are overdue. */
  private void lookAtTheClock() {
    long now = System.nanoTime();
    while (!strangers.isEmpty() && strangers.getFirst().deadlineNs - now < 0) {
      drop(strangers.getFirst());
    }
    int missing = expected.producers() - greeted.cardinality();
    if (missing > 0 && othersByNs != null && othersByNs - now < 0) {
      throw new JumpgateException(UNREACHABLE,
          "edge '%s': %d of %d producers did not connect within %d s of the first".formatted(
              expected.edge(), missing, expected.producers(), expected.timeout().toSeconds()),
          Map.of("edge", expected.edge()));
    }
  }

  private static void pause() {
    try {
      Thread.sleep(PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
