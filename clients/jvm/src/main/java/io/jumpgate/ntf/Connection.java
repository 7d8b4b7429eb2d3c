package io.jumpgate.ntf;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A producer's connection, which does not block: in clear or encrypted. One thread at a time, but for close. */
abstract class Connection implements Closeable {
  /** To be selected; what it has may have been taken from it already. */
  final SocketChannel socket;

  Connection(SocketChannel socket) {
    this.socket = socket;
  }

  /** As is fit for those that the endpoint expects. */
  static Connection of(SocketChannel socket, Expected expected) {
    return expected.certificate() == null ? new InClear(socket)
                                          : new TlsConnection(socket, expected.certificate().engine());
  }

  /** How many bytes came into the buffers; 0: more must come first; -1: the other end has closed it. */
  abstract long read(ByteBuffer... into) throws IOException;

  /** Sends what fits the system's buffer. */
  abstract void write(ByteBuffer from) throws IOException;

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private static final class InClear extends Connection {
    InClear(SocketChannel socket) {
      super(socket);
    }

    @Override
    long read(ByteBuffer... into) throws IOException {
      return into.length == 1 ? socket.read(into[0]) : socket.read(into);
    }

    @Override
    void write(ByteBuffer from) throws IOException {
      socket.write(from);
    }
  }
}
