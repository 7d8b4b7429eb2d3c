package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is let in, who waits for whom, and how an edge ends. After each test all memory has been given back. */
@Timeout(300)
class EndpointTest {
  private static final Descriptor DESCRIPTOR =
      Descriptor.columnar(List.of(new Field("a", DataType.INT64), new Field("b", DataType.STRING)));
  private static final List<List<Object>> ROWS =
      List.of(List.of(1L, "x"), Arrays.asList(null, "é"), Arrays.asList(3L, null));

  private final CountingAccount account = new CountingAccount(64 << 20);
  private Endpoint endpoint;

  @BeforeEach
  void open() {
    endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account);
  }

  @AfterEach
  void nothingIsHeld() {
    endpoint.close();
    assertEquals(0, account.held());
  }

  private static Expected expected(int producers) {
    return new Expected("j1", "e1", "secret", DESCRIPTOR, producers, 2);
  }

  private Expected expect(int producers) {
    endpoint.expect(expected(producers));
    return expected(producers);
  }

  private List<List<Object>> read() {
    List<List<Object>> rows = new ArrayList<>();
    for (Frame frame = endpoint.next(); frame != null; frame = endpoint.next()) {
      rows.addAll(FrameValues.of(frame, DESCRIPTOR));
      frame.close();
    }
    return rows;
  }

  private JumpgateException failure(String code) {
    JumpgateException error = assertThrows(JumpgateException.class, this::read);
    assertEquals(code, error.code(), error.getMessage());
    return error;
  }

  private static void assertSays(String part, String message) {
    assertTrue(message.contains(part), message);
  }

  // who is let in

  @Test
  void producersInAnyOrder() throws IOException {
    Expected expected = expect(3);
    for (int i : new int[] {2, 0, 1}) {
      TestProducer producer = TestProducer.admitted(endpoint, expected, i);
      producer.send(producer.data(ROWS), producer.data(ROWS), producer.end());
    }
    List<List<Object>> rows = read();
    assertEquals(18, rows.size());
    assertEquals(ROWS, rows.subList(0, 3));
    assertEquals(18, endpoint.rows());
    assertNull(endpoint.next());
  }

  @Test
  void strangersAreRefusedAndTheEdgeLivesOn() throws IOException {
    Expected expected = expect(1);
    String text = DESCRIPTOR.text();
    for (byte[] hello : List.of(TestProducer.hello(0, 2, "Secret", "j1", "e1", DESCRIPTOR.fingerprint(), text),
             TestProducer.hello(0, 2, "", "j1", "e1", DESCRIPTOR.fingerprint(), text),
             TestProducer.hello(0, 2, "secret", "j2", "e1", DESCRIPTOR.fingerprint(), text))) {
      try (TestProducer stranger = new TestProducer(endpoint, expected)) {
        stranger.send(hello);
        assertEquals("protocol: the job or its token is not the one that is expected here", stranger.reply());
        assertTrue(stranger.awaitClosed());
      }
    }
    try (TestProducer browser = new TestProducer(endpoint, expected)) {
      browser.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes());
      assertEquals("protocol: not a Jumpgate tuple stream: wrong magic number", browser.reply());
    }
    try (TestProducer impatient = new TestProducer(endpoint, expected)) {
      impatient.send(TestProducer.frame(FrameHeader.Kind.END, 0, 0, new byte[20]));
      assertEquals("protocol: the first frame is not a greeting", impatient.reply());
    }
    try (TestProducer cut = new TestProducer(endpoint, expected)) {
      cut.send(Arrays.copyOf(cut.hello(0), 40));
    }
    try (TestProducer spoilt = new TestProducer(endpoint, expected)) {
      byte[] hello = spoilt.hello(0);
      hello[50] ^= 1;
      spoilt.send(hello);
      assertSays("do not match its checksum", spoilt.reply());
    }
    try (TestProducer malformed = new TestProducer(endpoint, expected)) {
      malformed.send(TestProducer.hello(0, 2, "secret", "j1", "e1", "f"));
      assertEquals("protocol: a malformed greeting", malformed.reply());
    }
    TestProducer producer = TestProducer.admitted(endpoint, expected, 0);
    producer.send(producer.data(ROWS), producer.end());
    assertEquals(ROWS, read());
  }

  @Test
  void crowdsOfSilentConnectionsKeepNobodyOut() throws IOException {
    Expected expected = expect(1);
    List<TestProducer> crowd = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      crowd.add(new TestProducer(endpoint, expected));
    }
    TestProducer producer = TestProducer.admitted(endpoint, expected, 0);
    producer.send(producer.end());
    assertEquals(List.of(), read());
    assertThrows(EOFException.class, () -> crowd.get(0).reply());
    for (TestProducer each : crowd) {
      each.close();
    }
  }

  private void disagrees(String sentence, byte[] hello) throws IOException {
    try (TestProducer producer = new TestProducer(endpoint, expect(1))) {
      producer.send(hello);
      assertEquals("protocol: edge 'e1': " + sentence, producer.reply());
    }
    JumpgateException error = failure("protocol");
    assertEquals("edge 'e1': " + sentence, error.getMessage());
    assertEquals("e1", error.fields().get("edge"));
  }

  @Test
  void anotherEdge() throws IOException {
    disagrees("edge 'e2' does not end here",
        TestProducer.hello(0, 2, "secret", "j1", "e2", DESCRIPTOR.fingerprint(), DESCRIPTOR.text()));
  }

  @Test
  void anotherFormat() throws IOException {
    Descriptor other = Descriptor.columnar(
        List.of(new Field("a", DataType.INT64), new Field("b", DataType.BINARY.withNullable(false))));
    disagrees("the ends disagree on the tuple format: field 1: string? b here, binary b there",
        TestProducer.hello(0, 2, "secret", "j1", "e1", other.fingerprint(), other.text()));
  }

  @Test
  void anotherPartition() throws IOException {
    disagrees("partition 1 arrives at consumer 2",
        TestProducer.hello(0, 1, "secret", "j1", "e1", DESCRIPTOR.fingerprint(), DESCRIPTOR.text()));
  }

  @Test
  void aProducerOutOfRange() throws IOException {
    disagrees("producer 4294967295 connected, 1 are expected",
        TestProducer.hello(-1, 2, "secret", "j1", "e1", DESCRIPTOR.fingerprint(), DESCRIPTOR.text()));
  }

  @Test
  void aProducerThatComesTwice() throws IOException {
    Expected expected = expect(2);
    TestProducer.admitted(endpoint, expected, 0);
    try (TestProducer again = new TestProducer(endpoint, expected)) {
      again.send(again.hello(0));
      assertEquals("protocol: edge 'e1': producer 0 connected twice", again.reply());
    }
    failure("protocol");
  }

  @Test
  void producersThatDoNotComeThoughAnotherDid() throws IOException {
    Expected expected = new Expected("j1", "e1", "secret", DESCRIPTOR, 3, 2, Duration.ofSeconds(3), null);
    endpoint.expect(expected);
    TestProducer.admitted(endpoint, expected, 1);
    JumpgateException error = failure("unreachable");
    assertEquals("edge 'e1': 2 of 3 producers did not connect within 3 s of the first", error.getMessage());
    assertTrue(error.isUnreachable());
  }

  // how it ends

  @Test
  void aStreamThatBreaksOff() throws IOException {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    producer.send(producer.data(ROWS));
    producer.close();
    try (Frame frame = endpoint.next()) {
      assertEquals(3, frame.rows());
    }
    assertSays("producer 0: it vanished before the end of its stream", failure("unreachable").getMessage());
  }

  @Test
  void aStreamThatBreaksOffAmidAFrame() throws IOException {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    byte[] frame = producer.data(ROWS);
    producer.send(Arrays.copyOf(frame, frame.length - 1));
    producer.close();
    failure("unreachable");
  }

  @Test
  void aProducerThatGivesUp() throws IOException {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    producer.send(Greeting.error(new JumpgateException(ErrorCode.OVERFLOW, "too large")).array().clone());
    assertSays("producer 0: too large", failure("unreachable").getMessage());
  }

  @Test
  void aProducerIsToldThatItsConsumerFails() throws IOException {
    Expected expected = expect(2);
    TestProducer good = TestProducer.admitted(endpoint, expected, 0);
    TestProducer bad = TestProducer.admitted(endpoint, expected, 1);
    bad.send(new byte[32]);
    failure("protocol");
    assertSays("wrong magic number", good.reply());
    assertTrue(good.awaitClosed());
  }

  @Test
  void closingFromAnotherThread() throws Exception {
    expect(1);
    CompletableFuture<JumpgateException> reader = CompletableFuture.supplyAsync(() -> failure("overflow"));
    TimeUnit.MILLISECONDS.sleep(50);
    endpoint.close(new JumpgateException(ErrorCode.OVERFLOW, "the job failed"));
    assertEquals("the job failed", reader.get(60, TimeUnit.SECONDS).getMessage());
    assertEquals("overflow", assertThrows(JumpgateException.class, endpoint::next).code());
  }

  @Test
  void closingAmidAFrame() throws Exception {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    byte[] frame = producer.data(ROWS);
    producer.send(Arrays.copyOf(frame, 64));
    CompletableFuture<JumpgateException> reader = CompletableFuture.supplyAsync(() -> failure("cancelled"));
    while (account.held() == 0) {
      TimeUnit.MILLISECONDS.sleep(1);
    }
    endpoint.close();
    reader.get(60, TimeUnit.SECONDS);
  }

  @Test
  void interruptingTheReader() throws Exception {
    expect(1);
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    CompletableFuture<JumpgateException> reader = CompletableFuture.supplyAsync(() -> {
      thread.complete(Thread.currentThread());
      JumpgateException error = failure("cancelled");
      assertTrue(Thread.interrupted());
      return error;
    });
    thread.get(60, TimeUnit.SECONDS).interrupt();
    assertSays("was interrupted", reader.get(60, TimeUnit.SECONDS).getMessage());
  }

  @Test
  void closingBeforeAnythingIsExpected() {
    endpoint.close();
    endpoint.close();
    assertEquals("cancelled", assertThrows(JumpgateException.class, () -> expect(1)).code());
  }

  @Test
  void oneThreadAtATimeReads() throws Exception {
    expect(1);
    CompletableFuture<Void> first = CompletableFuture.runAsync(() -> failure("cancelled"));
    CompletableFuture<Void> second = CompletableFuture.runAsync(() -> failure("cancelled"));
    Object loser =
        CompletableFuture.anyOf(first, second).handle((ended, error) -> error.getCause()).get(60, TimeUnit.SECONDS);
    assertSays("IllegalStateException", loser.toString());
    endpoint.close();
  }

  @Test
  void anAddressThatCannotBeHad() {
    JumpgateException error = assertThrows(
        JumpgateException.class, () -> Endpoint.open(new InetSocketAddress("192.0.2.1", 0), "192.0.2.1", account));
    assertEquals("unreachable", error.code());
    assertSays("cannot listen at /192.0.2.1:0", error.getMessage());
  }

  @Test
  void portsOfARange() throws IOException {
    int taken = Integer.parseInt(endpoint.address().substring("127.0.0.1:".length()));
    Ports none = Ports.parse(taken + "-" + taken);
    JumpgateException error = assertThrows(JumpgateException.class, () -> Endpoint.open("127.0.0.1", none, account));
    assertEquals("unreachable", error.code());
    assertSays("no port of " + none + " is free: cannot listen at", error.getMessage());
    int last = Math.min(65535, taken + 50);
    try (Endpoint one = Endpoint.open("127.0.0.1", Ports.parse(taken + "-" + last), account);
        Endpoint two = Endpoint.open("127.0.0.1", Ports.parse(taken + " - " + last), account)) {
      for (Endpoint each : List.of(one, two)) {
        int port = Integer.parseInt(each.address().substring("127.0.0.1:".length()));
        assertTrue(port > taken && port <= last, each.address());
      }
    }
    assertEquals("0", Ports.parse("0").toString());
    for (String wrong : List.of("", "x", "1", "0-9", "9-1", "1-65536", "1-2-3", "-1")) {
      assertThrows(IllegalArgumentException.class, () -> Ports.parse(wrong), wrong);
    }
  }

  // memory

  @Test
  void framesOutliveTheirEndpoint() throws IOException {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    producer.send(producer.data(ROWS), producer.end());
    Frame frame = endpoint.next();
    frame.buffer().retain();
    frame.close();
    assertNull(endpoint.next());
    endpoint.close();
    assertTrue(account.held() > 0);
    assertEquals(ROWS, FrameValues.of(frame, DESCRIPTOR));
    frame.buffer().release();
    assertEquals(0, account.held());
    assertThrows(IllegalStateException.class, frame::close);
    assertThrows(IllegalStateException.class, frame.buffer()::retain);
  }

  @Test
  void memoryIsUsedAgain() throws IOException {
    TestProducer producer = TestProducer.admitted(endpoint, expect(1), 0);
    long before = 0;
    for (int i = 0; i < 100; i++) {
      producer.send(producer.data(ROWS));
      try (Frame frame = endpoint.next()) {
        before = before == 0 ? account.held() : before;
        assertEquals(before, account.held(), "frame " + i + " of " + frame.rows());
      }
    }
    producer.send(producer.end());
    assertNull(endpoint.next());
  }

  @Test
  void anAccountThatRefuses() throws IOException {
    Expected expected = expect(1);
    TestProducer producer = TestProducer.admitted(endpoint, expected, 0);
    byte[] frame = TestProducer.frame(FrameHeader.Kind.DATA, 1, 0, new byte[65 << 20]);
    producer.send(Arrays.copyOf(frame, FrameHeader.BYTES));
    JumpgateException error = failure("memory");
    assertSays("producer 0: the task may hold no more than", error.getMessage());
    assertSays("memory: ", producer.reply());
  }

  @Test
  void nothingIsReadAheadOfWhoReads() throws Exception {
    Expected expected = expect(1);
    TestProducer producer = TestProducer.admitted(endpoint, expected, 0);
    byte[] payload = FrameEncoder.payload(DESCRIPTOR, List.of(List.of(1L, "x".repeat(1 << 20))));
    AtomicInteger sent = new AtomicInteger();
    Thread sender = new Thread(() -> {
      try {
        for (int i = 0; i < 200; i++) {
          producer.send(producer.data(1, payload));
          sent.incrementAndGet();
        }
        producer.send(producer.end());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    });
    sender.start();
    for (int quiet = 0, before = -1; quiet < 20; quiet = before == sent.get() ? quiet + 1 : 0, before = sent.get()) {
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertTrue(sent.get() < 100, sent + " MiB were sent though nobody reads");
    assertEquals(0, account.held());
    long most = 0;
    for (Frame frame = endpoint.next(); frame != null; frame = endpoint.next()) {
      most = Math.max(most, account.held());
      frame.close();
    }
    sender.join();
    assertEquals(200, endpoint.rows());
    assertTrue(most < 8 << 20, most + " bytes were held");
  }
}
