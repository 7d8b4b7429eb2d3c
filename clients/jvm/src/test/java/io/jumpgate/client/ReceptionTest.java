package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Descriptor;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.TestProducer;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.JumpgateGrpc;
import io.jumpgate.v1.NetworkTupleFormat;
import io.jumpgate.v1.Operator;
import io.jumpgate.v1.Part;
import io.jumpgate.v1.ReceiveRequest;
import io.jumpgate.v1.ReceiveResponse;
import io.jumpgate.v1.SubmitResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A share of a result, of a made-up service and a producer: nothing waits but the tests. */
@Timeout(300)
class ReceptionTest {
  private static final Descriptor DESCRIPTOR = Descriptor.columnar(List.of(new Field("a", DataType.INT64)));

  private final FakeService service = new FakeService();
  private final AtomicInteger retries = new AtomicInteger();
  private Server server;
  private JumpgateClient client;
  private Reception reception;
  private String endpoint;
  private TestProducer producer;

  @BeforeEach
  void join() throws Exception {
    server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(service).build().start();
    client = JumpgateClient.connect("127.0.0.1:" + server.getPort(), Duration.ofSeconds(30));
    Unsent request = new Unsent(Dataflow.newBuilder().addOperators(Operator.getDefaultInstance()).build());
    reception = Reception.open(client, request, new Share("g", 3), "127.0.0.1", retries::incrementAndGet);
    ReceiveRequest step = service.heard();
    assertEquals("g", step.getJoin().getGroup());
    assertEquals(3, step.getJoin().getReceiver());
    endpoint = endpoint(step);
    assertFalse(reception.ready().isDone());
  }

  @AfterEach
  void nothingIsHeld() throws Exception {
    reception.close();
    client.close();
    server.shutdownNow().awaitTermination();
    if (producer != null) {
      producer.close();
    }
    for (int wait = 0; reception.heldBytes() > 0 && wait < 6000; wait++) { // its thread may have a frame in its hand
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(0, reception.heldBytes());
  }

  private static final class FakeService extends JumpgateGrpc.JumpgateImplBase {
    private final BlockingQueue<ReceiveRequest> steps = new LinkedBlockingQueue<>();
    private final CompletableFuture<Throwable> gone = new CompletableFuture<>();
    private volatile StreamObserver<ReceiveResponse> receiver;

    @Override
    public StreamObserver<ReceiveRequest> receive(StreamObserver<ReceiveResponse> to) {
      receiver = to;
      return new StreamObserver<>() {
        @Override
        public void onNext(ReceiveRequest step) {
          steps.add(step);
        }

        @Override
        public void onError(Throwable error) {
          gone.complete(error);
        }

        @Override
        public void onCompleted() {}
      };
    }

    ReceiveRequest heard() throws InterruptedException {
      return steps.poll(60, TimeUnit.SECONDS);
    }

    void begin(String job) {
      begin(job, DESCRIPTOR.text());
    }

    void begin(String job, String descriptor) {
      NetworkTupleFormat.Builder format =
          NetworkTupleFormat.newBuilder().setText(descriptor).setFingerprint(DESCRIPTOR.fingerprint());
      format.getSchemaBuilder().addFieldsBuilder().setName("a").setType(DataType.INT64.toProto());
      SubmitResponse submitted = SubmitResponse.newBuilder()
                                     .setJobId(job)
                                     .setEdge("e")
                                     .setProducers(1)
                                     .setFormat(format)
                                     .setToken("t")
                                     .build();
      receiver.onNext(
          ReceiveResponse.newBuilder().setPart(Part.newBuilder().setJob(submitted).setPartition(1)).build());
    }

    void keep(String job) {
      receiver.onNext(ReceiveResponse.newBuilder().setKeep(job).build());
    }

    void again(String why) {
      receiver.onNext(ReceiveResponse.newBuilder().setAgain(why).build());
    }

    void end() {
      receiver.onCompleted();
    }

    void fail(String json) {
      Metadata trailers = new Metadata();
      trailers.put(Metadata.Key.of("jumpgate-error", Metadata.ASCII_STRING_MARSHALLER), json);
      receiver.onError(Status.UNAVAILABLE.asRuntimeException(trailers));
    }
  }

  private static String endpoint(ReceiveRequest join) {
    Dataflow dataflow = join.getJoin().getRequest().getDataflow();
    return dataflow.getOperators(dataflow.getOperatorsCount() - 1).getSend().getEndpoints(0);
  }

  /** The job begins, and its producer has connected. */
  private void begin(String job) throws IOException {
    service.begin(job);
    producer = TestProducer.admitted(endpoint, new Expected(job, "e", "t", DESCRIPTOR, 1, 1), 0);
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
    assertFalse(reception.ready().isDone());
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
    endpoint = endpoint(service.heard());
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
    service.begin("j", "another version's");
    assertNotNull(failure());
    service.gone.get(60, TimeUnit.SECONDS);
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
