package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Edges on which both ends show the job's certificate. */
final class EncryptedEdgeTest {
  private static final Descriptor DESCRIPTOR =
      Descriptor.columnar(List.of(new Field("a", DataType.INT64), new Field("b", DataType.STRING)));
  private static final int BATCH = 5000; // rows, many records of TLS
  private static final int BATCHES = 20;

  private static final EdgeCertificate JOB = certificate();

  private final CountingAccount account = new CountingAccount(64 << 20);
  private final Endpoint endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account);

  @AfterEach
  void nothingIsHeld() {
    endpoint.close();
    assertEquals(0, account.held());
  }

  /** A new one. */
  private static EdgeCertificate certificate() {
    char[] password = "secret".toCharArray();
    try {
      Path file = Files.createTempDirectory("jumpgate").resolve("keys");
      String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
      Process making = new ProcessBuilder(keytool, "-genkeypair", "-alias", "job", "-keyalg", "EC", "-dname", "CN=job",
          "-storetype", "PKCS12", "-keystore", file.toString(), "-storepass", new String(password))
                           .inheritIO()
                           .start();
      assertEquals(0, making.waitFor());
      KeyStore store = KeyStore.getInstance(file.toFile(), password);
      return new EdgeCertificate(pem("CERTIFICATE", store.getCertificate("job").getEncoded()),
          pem("PRIVATE KEY", store.getKey("job", password).getEncoded()));
    } catch (IOException | GeneralSecurityException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static String pem(String kind, byte[] der) {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, text, kind);
  }

  private static Expected expected(int producers, EdgeCertificate certificate) {
    return new Expected("j1", "e1", "secret", DESCRIPTOR, producers, 0, certificate);
  }

  private static List<List<Object>> batch(int number, int rows) {
    List<List<Object>> batch = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      batch.add(List.of((long) number * BATCH + i, "text of row " + i));
    }
    return batch;
  }

  /** On a thread: what is read has to make room for what is sent. */
  private CompletableFuture<Void> produce(Expected expected, int number) {
    return CompletableFuture.runAsync(() -> {
      try (TestProducer producer = TestProducer.admitted(endpoint, expected, number)) {
        for (int i = 0; i < BATCHES; i++) {
          producer.send(producer.data(batch(i, i % 2 == 0 ? BATCH : 1))); // long frames and short ones
        }
        producer.send(producer.end());
        producer.awaitClosed();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    });
  }

  @Test
  void rowsAreThoseThatWereSent() {
    Expected expected = expected(2, JOB);
    endpoint.expect(expected);
    List<CompletableFuture<Void>> producers = List.of(produce(expected, 0), produce(expected, 1));
    List<List<Object>> rows = new ArrayList<>();
    for (Frame frame = endpoint.next(); frame != null; frame = endpoint.next()) {
      rows.addAll(FrameValues.of(frame, DESCRIPTOR));
      frame.close();
    }
    List<List<Object>> sent = new ArrayList<>();
    for (int i = 0; i < BATCHES; i++) {
      sent.addAll(batch(i, i % 2 == 0 ? BATCH : 1));
    }
    assertEquals(2 * sent.size(), rows.size());
    for (List<Object> row : sent.subList(0, 3)) {
      assertEquals(2, rows.stream().filter(row::equals).count());
    }
    assertEquals(
        2 * sent.stream().mapToLong(r -> (Long) r.get(0)).sum(), rows.stream().mapToLong(r -> (Long) r.get(0)).sum());
    producers.forEach(CompletableFuture::join);
  }

  @Test
  void strangersGetNothingAndTheEdgeLivesOn() throws IOException {
    Expected expected = expected(1, JOB);
    endpoint.expect(expected);
    try (TestProducer clear = new TestProducer(endpoint, expected(1, null))) {
      clear.send(clear.hello(0));
      assertThrows(Exception.class, clear::reply);
    }
    try (TestProducer other = new TestProducer(endpoint, expected(1, certificate()))) {
      assertThrows(IOException.class, () -> {
        other.send(other.hello(0));
        other.reply();
      });
    }
    CompletableFuture<Void> producer = produce(expected, 0);
    try (Frame first = endpoint.next()) {
      assertEquals(BATCH, first.rows());
    }
    endpoint.close();
    assertThrows(CompletionException.class, producer::join, "what it still sends is not wanted");
  }

  @Test
  void aStreamThatBreaksOffIsNoAnswer() throws IOException {
    Expected expected = expected(1, JOB);
    endpoint.expect(expected);
    try (TestProducer producer = TestProducer.admitted(endpoint, expected, 0)) {
      producer.send(producer.data(batch(0, 10)));
      endpoint.next().close();
    }
    JumpgateException error = assertThrows(JumpgateException.class, endpoint::next);
    assertEquals(ErrorCode.UNREACHABLE.text(), error.code());
  }

  @Test
  void itsKeyIsNotShown() {
    assertEquals("EdgeCertificate[…]", JOB.toString());
    JumpgateException error = assertThrows(JumpgateException.class, () -> new EdgeCertificate("no", "pair").engine());
    assertTrue(error.getMessage().startsWith("the job's certificate cannot be used: "), error.getMessage());
  }
}
