package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jumpgate.dataflow.Unsent;
import io.jumpgate.v1.Dataflow;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class SharesTest {
  @Test
  void whateverFailsReachesWhoWaits() throws Exception {
    try (FakeService service = new FakeService()) {
      Shares shares = new Shares(service.client(), new Estimates(service.client()), () -> 1);
      Unsent result = new Unsent(Dataflow.getDefaultInstance());
      Error error = new NoClassDefFoundError("io/example/Absent");
      CompletableFuture<Void> opened = shares.open(result, 1, dealt -> { throw error; }, explained -> explained);
      ExecutionException told = assertThrows(ExecutionException.class, () -> opened.get(60, TimeUnit.SECONDS));
      assertEquals(error, told.getCause());
    }
  }
}
