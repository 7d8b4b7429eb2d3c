package io.jumpgate.trino;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jumpgate.client.FakeService;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.ntf.TestProducer;
import io.trino.plugin.base.metrics.LongCount;
import io.trino.spi.Page;
import io.trino.spi.metrics.Metrics;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pages of a made-up job: a driver sleeps while there is none, and its memory is accounted. */
@Timeout(300)
final class JumpgatePageSourceTest {
  private static final TableHandle TABLE = TableHandle.of("main.t",
      Operator.read(List.of("/t.parquet"), "parquet", List.of(new Field("a", DataType.INT64)), List.of(0), Map.of(),
          Optional.empty()));

  private FakeService service;
  private TestProducer producer;
  private JumpgatePageSource source;

  @BeforeEach
  void open() throws Exception {
    service = new FakeService();
    source = JumpgatePageSource.open(
        service.client(), TABLE, TABLE.columns(), new JumpgateSplit("main.t", "", 0, ""), "127.0.0.1");
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
    for (int wait = 0; source.getMemoryUsage() > 0 && wait < 6000; wait++) {
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(0, source.getMemoryUsage());
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

  private Page page() throws Exception {
    for (Page page = source.getNextPage();; page = source.getNextPage()) {
      if (page != null) {
        return page;
      }
      source.isBlocked().get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void isBlockedWhileNoPageMayBeHandedOut() throws Exception {
    assertFalse(source.isBlocked().isDone());
    assertNull(source.getNextPage());
    begin("j");
    CompletableFuture<?> blocked = source.isBlocked();
    assertFalse(blocked.isDone());
    assertNull(source.getNextPage());
    service.keep("j");
    blocked.get(60, TimeUnit.SECONDS);
    assertEquals(2, page().getPositionCount());
    assertFalse(source.isFinished());
    end();
    while (!source.isFinished()) {
      assertNull(source.getNextPage());
      source.isBlocked().get(60, TimeUnit.SECONDS);
    }
    assertTrue(source.isBlocked().isDone());
    assertEquals(OptionalLong.of(2), source.getCompletedPositions());
    assertTrue(source.getCompletedBytes() >= 16);
  }

  @Test
  void framesAreAccountedUntilTheyArePages() throws Exception {
    assertEquals(0, source.getMemoryUsage());
    begin("j");
    assertTrue(source.getMemoryUsage() >= 16);
    service.keep("j");
    page();
    end();
    assertNothingIsHeld();
  }

  @Test
  void whatIsNotReadIsGivenBack() throws Exception {
    begin("j");
    assertTrue(source.getMemoryUsage() >= 16);
    source.close();
    assertTrue(service.heard().hasEnough());
    end();
    assertNothingIsHeld();
  }

  @Test
  void countsJobsThatAreRunAgain() throws Exception {
    assertEquals(Metrics.EMPTY, source.getMetrics());
    begin("j1");
    service.again("a host failed");
    producer.close();
    begin("j2");
    service.keep("j2");
    assertEquals(2, page().getPositionCount());
    assertEquals(Map.of("jumpgateRetries", new LongCount(1)), source.getMetrics().getMetrics());
  }
}
