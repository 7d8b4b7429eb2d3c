import io.trino.server.Server;

/**
 * Starts Trino as its own launcher does, which Maven's repositories lack: {@code java -cp 'LIB/*'
 * TrinoTestServer.java}.
 */
public final class TrinoTestServer {
  private TrinoTestServer() {}

  public static void main(String[] args) {
    new Server().start("435");
  }
}
