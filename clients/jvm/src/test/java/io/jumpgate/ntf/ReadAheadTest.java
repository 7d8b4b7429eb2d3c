package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An edge that is read without waiting. */
@Timeout(300)
class ReadAheadTest {
  private static final Descriptor DESCRIPTOR = Descriptor.columnar(List.of(new Field("a", DataType.INT64)));
  private static final Expected EXPECTED = new Expected("j", "e", "t", DESCRIPTOR, 1, 0);

  private final CountingAccount account = new CountingAccount(1 << 20);
  private TestProducer producer;
  private ReadAhead ahead;

  @BeforeEach
  void open() throws IOException {
    Endpoint endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account);
    endpoint.expect(EXPECTED);
    ahead = new ReadAhead(endpoint, 3);
    producer = TestProducer.admitted(endpoint, EXPECTED, 0);
  }

  @AfterEach
  void nothingIsHeld() throws Exception {
    ahead.close();
    producer.close();
    ahead.ready().get(60, TimeUnit.SECONDS);
    for (int wait = 0; account.held() > 0 && wait < 6000; wait++) { // its thread may have a frame in its hand
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(0, account.held());
  }

  private void send(long value) throws IOException {
    producer.send(producer.data(List.of(List.of(value))));
  }

  @Test
  void framesAreThereWhenItIsReady() throws Exception {
    assertNull(ahead.poll());
    assertFalse(ahead.ready().isDone());
    for (long i = 0; i < 10; i++) {
      send(i);
    }
    producer.send(producer.end());
    for (long i = 0; i < 10; i++) {
      ahead.ready().get(60, TimeUnit.SECONDS);
      assertFalse(ahead.isFinished());
      try (Frame frame = ahead.poll()) {
        assertEquals(List.of(List.of(i)), FrameValues.of(frame, DESCRIPTOR));
      }
    }
    ahead.ready().get(60, TimeUnit.SECONDS);
    assertNull(ahead.poll());
    assertTrue(ahead.isFinished());
  }

  @Test
  void soManyFramesAndNoMore() throws Exception {
    for (long i = 0; i < 10; i++) {
      send(i);
    }
    ahead.ready().get(60, TimeUnit.SECONDS);
    for (int quiet = 0; quiet < 20; quiet++) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    long oneFrame = 4096 + 64;
    assertTrue(account.held() <= 5 * oneFrame, account.held() + " bytes: three, one in its hand, one that comes");
    assertFalse(ahead.isFinished());
  }

  @Test
  void anErrorComesBeforeFramesThatAreNoAnswer() throws Exception {
    send(1);
    producer.close();
    ahead.ready().get(60, TimeUnit.SECONDS);
    JumpgateException error = null;
    while (error == null) {
      try (Frame frame = ahead.poll()) {
        ahead.ready().get(60, TimeUnit.SECONDS);
      } catch (JumpgateException e) {
        error = e;
      }
    }
    assertEquals("unreachable", error.code());
    assertFalse(ahead.isFinished());
    assertThrows(JumpgateException.class, ahead::poll);
  }

  @Test
  void closingWhileItWaits() throws Exception {
    ahead.close();
    ahead.ready().get(60, TimeUnit.SECONDS);
    assertEquals("cancelled", assertThrows(JumpgateException.class, ahead::poll).code());
    assertTrue(producer.awaitClosed());
  }

  @Test
  void closingWhileItIsFull() throws Exception {
    for (long i = 0; i < 10; i++) {
      send(i);
    }
    ahead.ready().get(60, TimeUnit.SECONDS);
    ahead.close();
    assertTrue(producer.awaitClosed());
    assertFalse(ahead.isFinished());
    assertEquals("cancelled", assertThrows(JumpgateException.class, ahead::poll).code());
  }
}
