package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.TestProducer;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Operator;
import io.jumpgate.v1.ReceiveRequest;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A share of a result, of a made-up service and a producer: nothing waits but the tests. */
@Timeout(300)
class ReceptionTest {
  private final AtomicInteger retries = new AtomicInteger();
  private FakeService service;
  private Reception reception;
  private String endpoint;
  private TestProducer producer;

  @BeforeEach
  void join() throws Exception {
    service = new FakeService();
    Unsent request = new Unsent(Dataflow.newBuilder().addOperators(Operator.getDefaultInstance()).build());
    reception = Reception.open(service.client(), request, new Share("g", 3), "127.0.0.1", retries::incrementAndGet);
    ReceiveRequest step = service.heard();
    assertEquals("g", step.getJoin().getGroup());
    assertEquals(3, step.getJoin().getReceiver());
    endpoint = FakeService.endpoint(step);
    assertFalse(reception.ready().isDone());
  }

  @AfterEach
  void nothingIsHeld() throws Exception {
    reception.close();
    service.close();
    if (producer != null) {
      producer.close();
    }
    for (int wait = 0; reception.heldBytes() > 0 && wait < 6000; wait++) { // its thread may have a frame in its hand
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(0, reception.heldBytes());
  }

  /** The job begins, and its producer has connected. */
  private void begin(String job) throws IOException {
    producer = service.begin(job, endpoint);
  }

  private void send(long value) throws IOException {
    producer.send(producer.data(List.of(List.of(value))));
  }

  /** Waits for a frame of one row. */
  private void assertNext() throws Exception {
    for (ColumnarFrame frame = reception.poll();; frame = reception.poll()) {
      if (frame != null) {
        assertEquals(1, frame.rows());
        assertEquals(List.of("a"), reception.fields().stream().map(Field::name).toList());
        frame.close();
        return;
      }
      reception.ready().get(60, TimeUnit.SECONDS);
    }
  }

  /** Waits until all has been handed out. */
  private void assertFinishes() throws Exception {
    while (!reception.isFinished()) {
      assertNull(reception.poll());
      reception.ready().get(60, TimeUnit.SECONDS);
    }
    assertTrue(reception.ready().isDone());
  }

  /** Only the service's word is waited for, once the end of the edge has been read. */
  private void assertWaits() throws Exception {
    boolean waits = false;
    for (int i = 0; !waits && i < 6000; i++) {
      waits = !reception.ready().isDone();
      Thread.sleep(waits ? 0 : 10);
    }
    assertTrue(waits);
  }

  private JumpgateException failure() throws Exception {
    while (true) {
      try {
        assertNull(reception.poll());
      } catch (JumpgateException e) {
        return e;
      }
      reception.ready().get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void aFrameWaitsUntilTheJobIsNotRunAgain() throws Exception {
    begin("j");
    send(7);
    assertEquals("j", service.heard().getHandOut());
    assertTrue(reception.heldBytes() > 0);
    assertNull(reception.poll());
    assertFalse(reception.ready().isDone());
    service.keep("j");
    assertNext();
    producer.send(producer.end());
    assertTrue(producer.awaitClosed());
    assertNull(reception.poll());
    assertFalse(reception.isFinished());
    assertWaits();
    service.end();
    assertFinishes();
    assertEquals(0, retries.get());
  }

  @Test
  void aJobThatHasEndedIsNotRunAgain() throws Exception {
    begin("j");
    send(7);
    producer.send(producer.end());
    assertEquals("j", service.heard().getHandOut());
    service.end();
    assertNext();
    assertFinishes();
  }

  @Test
  void whatCameOfAJobThatIsRunAgainIsVoid() throws Exception {
    begin("j1");
    send(7);
    assertEquals("j1", service.heard().getHandOut());
    service.again("a host failed");
    String first = endpoint;
    endpoint = FakeService.endpoint(service.heard());
    assertNotEquals(first, endpoint);
    producer.close();
    begin("j2");
    assertNull(reception.poll());
    send(8);
    producer.send(producer.end());
    assertEquals("j2", service.heard().getHandOut());
    service.keep("j2");
    service.end();
    assertNext();
    assertFinishes();
    assertEquals(1, retries.get());
  }

  @Test
  void whatAnEdgeLosesTheServiceExplains() throws Exception {
    begin("j");
    producer.close();
    service.fail("{\"code\": \"instance_failed\", \"message\": \"f0.0 died\", \"fields\": {}}");
    JumpgateException error = failure();
    assertEquals("instance_failed", error.code());
    assertEquals("f0.0 died", error.getMessage());
    assertTrue(reception.ready().isDone());
  }

  @Test
  void whatTheServiceDoesNotExplainTheEdgeSays() throws Exception {
    begin("j");
    send(7);
    assertEquals("j", service.heard().getHandOut());
    service.keep("j");
    assertNext();
    producer.close();
    assertEquals("edge 'e': producer 0: it vanished before the end of its stream", failure().getMessage());
  }

  @Test
  void whoCannotReceiveTellsTheService() throws Exception {
    service.part("j", "another version's");
    assertNotNull(failure());
    service.gone().get(60, TimeUnit.SECONDS);
  }

  @Test
  void whoHasEnoughHoldsNobodyUp() throws Exception {
    begin("j");
    send(7);
    assertEquals("j", service.heard().getHandOut());
    reception.close();
    assertTrue(service.heard().hasEnough());
    for (long i = 0; i < 100; i++) { // far more than are read ahead
      send(i);
    }
    producer.send(producer.end());
    assertTrue(producer.awaitClosed());
  }

  @Test
  void aReceiverMayComeTooLateForAPart() throws Exception {
    service.end();
    assertFinishes();
    assertEquals(0, reception.bytes());
  }
}
