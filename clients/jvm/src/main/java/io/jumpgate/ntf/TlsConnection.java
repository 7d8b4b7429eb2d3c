package io.jumpgate.ntf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;

/**
 * An encrypted connection. Records go straight to where their bytes stay if there is room for a whole one, else by way
 * of a buffer. Reading also does what is left of the handshake.
 */
final class TlsConnection extends Connection {
  private static final int RECORDS = 8; // that are taken from the system at once

  private final SSLEngine engine;
  private final int recordBytes;
  private final ByteBuffer arrived; // encrypted, to be read
  private final ByteBuffer leaving; // encrypted, to be written
  private final ByteBuffer plain; // of a record that did not fit, to be read

  TlsConnection(SocketChannel socket, SSLEngine engine) {
    super(socket);
    this.engine = engine;
    recordBytes = engine.getSession().getApplicationBufferSize();
    int packetBytes = engine.getSession().getPacketBufferSize();
    arrived = ByteBuffer.allocate(RECORDS * packetBytes).limit(0);
    leaving = ByteBuffer.allocate(packetBytes);
    plain = ByteBuffer.allocate(recordBytes).limit(0);
  }

  @Override
  long read(ByteBuffer... into) throws IOException {
    long count = 0;
    while (true) {
      count += take(into);
      if (remaining(into) == 0) {
        return count;
      }
      SSLEngineResult result = unwrap(into);
      count += Math.max(0, result.bytesProduced() - plain.remaining());
      switch (result.getStatus()) {
        case CLOSED -> {
          return count > 0 ? count : -1;
        }
        case BUFFER_UNDERFLOW -> {
          arrived.compact();
          int more = socket.read(arrived);
          arrived.flip();
          if (more <= 0) {
            return count > 0 ? count : more;
          }
        }
        case BUFFER_OVERFLOW -> throw new IOException("a record of TLS that is too long");
        case OK -> proceed(result.getHandshakeStatus());
        default -> throw new AssertionError(result);
      }
    }
  }

  @Override
  void write(ByteBuffer from) throws IOException {
    while (from.hasRemaining()) {
      wrap(from);
    }
  }

  /** Of the buffer. */
  private long take(ByteBuffer... into) {
    long before = plain.remaining();
    for (ByteBuffer to : into) {
      int size = Math.min(to.remaining(), plain.remaining());
      to.put(plain.slice(plain.position(), size));
      plain.position(plain.position() + size);
    }
    return before - plain.remaining();
  }

  /** One record, into the buffer if there is no room for the longest elsewhere. */
  private SSLEngineResult unwrap(ByteBuffer... into) throws IOException {
    if (remaining(into) >= recordBytes) {
      return engine.unwrap(arrived, into);
    }
    plain.clear();
    try {
      return engine.unwrap(arrived, plain);
    } finally {
      plain.flip();
    }
  }

  /** What the handshake wants next, which may come at any time. */
  private void proceed(HandshakeStatus status) throws IOException {
    for (HandshakeStatus next = status;; next = engine.getHandshakeStatus()) {
      if (next == HandshakeStatus.NEED_TASK) {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
          task.run();
        }
      } else if (next == HandshakeStatus.NEED_WRAP) {
        wrap(ByteBuffer.allocate(0));
      } else {
        return;
      }
    }
  }

  /** Sends a record. It is small, or one of a connection to which nothing was sent: there is room for it. */
  private void wrap(ByteBuffer from) throws IOException {
    leaving.clear();
    SSLEngineResult result = engine.wrap(from, leaving);
    leaving.flip();
    socket.write(leaving);
    if (leaving.hasRemaining() || result.getStatus() != SSLEngineResult.Status.OK) {
      throw new IOException("cannot send a record of TLS: " + result.getStatus());
    }
  }

  private static long remaining(ByteBuffer... buffers) {
    long sum = 0;
    for (ByteBuffer buffer : buffers) {
      sum += buffer.remaining();
    }
    return sum;
  }
}
