package io.jumpgate.ntf;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** What is done to sockets whose end no longer matters. */
final class Sockets {
  private static final Path RECEIVE_BYTES_MAX = Path.of("/proc/sys/net/core/rmem_max");

  private Sockets() {}

  static void close(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException e) {
      // nobody waits for it
    }
  }

  /** Sends a short frame if it fits the system's buffer; whoever reads from the connection notices its end. */
  static void tell(Connection connection, ByteBuffer frame) {
    try {
      connection.write(frame);
    } catch (IOException e) {
      // see above
    }
  }

  /** The largest receive buffer that a program may ask for; 0 if unknown. */
  static long receiveBytesMax() {
    try {
      return Long.parseLong(Files.readString(RECEIVE_BYTES_MAX).strip());
    } catch (IOException | NumberFormatException e) {
      return 0;
    }
  }
}
