package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.ntf.TestProducer;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What an engine's page source does with a made-up job: a driver sleeps while there is no page, and its memory is
 * accounted.
 */
@Timeout(300)
public abstract class PageSourceContract {
  /** An engine's page source, in whose terms the tests are not. */
  protected interface Source {
    /** Rows of the next page; -1 if there is none now. */
    int next();

    Future<?> isBlocked();

    boolean isFinished();

    long memoryBytes();

    long completedRows();

    long completedBytes();

    /** Jobs that were run again, as the engine's statistics have it. */
    long retries();

    void close() throws Exception;
  }

  private FakeService service;
  private TestProducer producer;
  private Source source;

  /** Of a request to the service for the column {@code a}, received at 127.0.0.1. */
  protected abstract Source open(JumpgateClient client);

  @BeforeEach
  void begin() throws Exception {
    service = new FakeService();
    source = open(service.client());
  }

  @AfterEach
  void nothingIsHeld() throws Exception {
    source.close();
    if (producer != null) {
      producer.close();
    }
    service.close();
    assertNothingIsHeld();
  }

  /** Soon: its thread may have a frame in its hand. */
  private void assertNothingIsHeld() throws InterruptedException {
    for (int wait = 0; source.memoryBytes() > 0 && wait < 6000; wait++) {
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(0, source.memoryBytes());
  }

  /** The job begins, and its first frame has come. */
  private void begin(String job) throws Exception {
    producer = service.begin(job, FakeService.endpoint(service.heard()));
    producer.send(producer.data(List.of(List.of(7L), List.of(8L))));
    assertEquals(job, service.heard().getHandOut());
  }

  private void end() throws Exception {
    producer.send(producer.end());
    assertTrue(producer.awaitClosed());
    service.end();
  }

  private int page() throws Exception {
    for (int rows = source.next();; rows = source.next()) {
      if (rows >= 0) {
        return rows;
      }
      source.isBlocked().get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void isBlockedWhileNoPageMayBeHandedOut() throws Exception {
    assertFalse(source.isBlocked().isDone());
    assertEquals(-1, source.next());
    begin("j");
    Future<?> blocked = source.isBlocked();
    assertFalse(blocked.isDone());
    assertEquals(-1, source.next());
    service.keep("j");
    blocked.get(60, TimeUnit.SECONDS);
    assertEquals(2, page());
    assertFalse(source.isFinished());
    end();
    while (!source.isFinished()) {
      assertEquals(-1, source.next());
      source.isBlocked().get(60, TimeUnit.SECONDS);
    }
    assertTrue(source.isBlocked().isDone());
    assertEquals(2, source.completedRows());
    assertTrue(source.completedBytes() >= 16);
  }

  @Test
  void framesAreAccountedUntilTheyArePages() throws Exception {
    assertEquals(0, source.memoryBytes());
    begin("j");
    assertTrue(source.memoryBytes() >= 16);
    service.keep("j");
    page();
    end();
    assertNothingIsHeld();
  }

  @Test
  void whatIsNotReadIsGivenBack() throws Exception {
    begin("j");
    assertTrue(source.memoryBytes() >= 16);
    source.close();
    assertTrue(service.heard().hasEnough());
    end();
    assertNothingIsHeld();
  }

  @Test
  void countsJobsThatAreRunAgain() throws Exception {
    begin("j1");
    assertEquals(0, source.retries());
    service.again("a host failed");
    producer.close();
    begin("j2");
    service.keep("j2");
    assertEquals(2, page());
    assertEquals(1, source.retries());
  }
}
