package io.jumpgate.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.jumpgate.ErrorCode;
import io.jumpgate.Fault;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.Descriptor;
import io.jumpgate.v1.CancelRequest;
import io.jumpgate.v1.CancelResponse;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.DescribeRequest;
import io.jumpgate.v1.Event;
import io.jumpgate.v1.ExecuteRequest;
import io.jumpgate.v1.ExplainRequest;
import io.jumpgate.v1.ExplainResponse;
import io.jumpgate.v1.JobDescription;
import io.jumpgate.v1.JumpgateGrpc;
import io.jumpgate.v1.LookRequest;
import io.jumpgate.v1.NetworkTupleFormat;
import io.jumpgate.v1.StoreCredentials;
import io.jumpgate.v1.SubmitRequest;
import io.jumpgate.v1.SubmitResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The client against a made-up service: answers, and errors as they were raised. */
@Timeout(300)
class JumpgateClientTest {
  private static final Descriptor DESCRIPTOR = Descriptor.columnar(List.of(new Field("a b", DataType.decimal(7, 2))));

  private final FakeService service = new FakeService();
  private Server server;
  private JumpgateClient client;

  @BeforeEach
  void start() throws IOException {
    server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(service).build().start();
    client = JumpgateClient.connect("127.0.0.1:" + server.getPort(), Duration.ofSeconds(30));
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    server.shutdownNow().awaitTermination();
  }

  /** Answers each call with what the test says. */
  private static final class FakeService extends JumpgateGrpc.JumpgateImplBase {
    SubmitResponse submitted = SubmitResponse.getDefaultInstance();
    String error; // JSON
    Status status;
    String lastState = "done";
    final CompletableFuture<Boolean> gone = new CompletableFuture<>();
    boolean holds;
    String cancelled;
    long describeMs; // until it says that it is there, which it does whatever else fails

    private <T> void answer(StreamObserver<T> to, T value) {
      if (status != null) {
        Metadata trailers = new Metadata();
        if (error != null) {
          trailers.put(Metadata.Key.of("jumpgate-error", Metadata.ASCII_STRING_MARSHALLER), error);
        }
        to.onError(status.asRuntimeException(trailers));
      } else {
        to.onNext(value);
        to.onCompleted();
      }
    }

    @Override
    public void submit(SubmitRequest request, StreamObserver<SubmitResponse> to) {
      answer(to, submitted);
    }

    @Override
    public void execute(ExecuteRequest request, StreamObserver<Event> to) {
      to.onNext(Event.newBuilder().setJobId(request.getJobId()).setState("running").build());
      if (holds) {
        Context.current().addListener(context -> gone.complete(true), Runnable::run);
        return;
      }
      answer(to, Event.newBuilder().setState(lastState).setDetailJson("{}").build());
    }

    @Override
    public void cancel(CancelRequest request, StreamObserver<CancelResponse> to) {
      cancelled = request.getJobId();
      answer(to, CancelResponse.getDefaultInstance());
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<JobDescription> to) {
      try {
        Thread.sleep(describeMs);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      to.onNext(JobDescription.getDefaultInstance());
      to.onCompleted();
    }

    @Override
    public void explain(ExplainRequest request, StreamObserver<ExplainResponse> to) {
      answer(to, ExplainResponse.newBuilder().setText("a plan").build());
    }
  }

  private static NetworkTupleFormat.Builder format() {
    NetworkTupleFormat.Builder format =
        NetworkTupleFormat.newBuilder().setText(DESCRIPTOR.text()).setFingerprint(DESCRIPTOR.fingerprint());
    format.getSchemaBuilder().addFieldsBuilder().setName("a b").setType(DataType.decimal(7, 2).toProto());
    return format;
  }

  @Test
  void findsAServiceThatWasStartedAgainAtOnce() throws IOException, InterruptedException {
    int port = server.getPort();
    assertEquals("done", client.execute("j1", event -> {}).await().getState());
    server.shutdownNow().awaitTermination();
    for (int refused = 0; refused < 5; refused++) { // each would make the channel's back-off longer
      JumpgateException error = assertThrows(JumpgateException.class, client.execute("j1", event -> {})::await);
      assertTrue(error.isUnreachable());
      while (client.state() == ConnectivityState.CONNECTING) {
        Thread.onSpinWait(); // the call failed an instant earlier
      }
    }
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port)).addService(service).build().start();
    assertEquals("done", client.execute("j1", event -> {}).await().getState());
  }

  @Test
  void aServiceThatSaysNothingIsUnreachableSoon() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        JumpgateClient own = JumpgateClient.connect("127.0.0.1:" + silent.getLocalPort(), Duration.ofMinutes(1))) {
      JumpgateException error = assertThrows(JumpgateException.class, () -> own.cancel("j1"));
      assertTrue(error.isUnreachable());
      assertTrue(error.getMessage().contains("nothing came within 5000 ms"), error.getMessage());
    }
  }

  @Test
  void aServiceThatHasAnsweredIsWaitedForLessThanOneThatHasNot() throws InterruptedException {
    client.cancel("j1");
    service.describeMs = 5000;
    Thread.sleep(1100); // what answered a second ago is not asked
    JumpgateException error = assertThrows(JumpgateException.class, () -> client.cancel("j2"));
    assertTrue(error.isUnreachable());
    assertTrue(error.getMessage().contains("nothing came within 1500 ms"), error.getMessage());
  }

  @Test
  void eachCallShowsTheTokenThatTheFileHasThen(@TempDir Path folder) throws IOException, InterruptedException {
    Metadata.Key<String> authorization = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    Metadata.Key<String> protocol = Metadata.Key.of("jumpgate-protocol", Metadata.ASCII_STRING_MARSHALLER);
    List<String> shown = new ArrayList<>();
    ServerInterceptor watcher = new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        if (!call.getMethodDescriptor().getBareMethodName().equals("Describe")) { // that asks whether anybody answers
          shown.add(headers.get(authorization));
          assertEquals("1", headers.get(protocol));
        }
        return next.startCall(call, headers);
      }
    };
    Server guarded = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                         .addService(ServerInterceptors.intercept(service, watcher))
                         .build()
                         .start();
    Path file = folder.resolve("token");
    Files.writeString(file, "first\n");
    Credentials credentials = new Credentials(Optional.empty(), Optional.of(file));
    try (JumpgateClient own =
             JumpgateClient.connect("127.0.0.1:" + guarded.getPort(), Duration.ofSeconds(30), credentials)) {
      own.cancel("j1");
      Files.writeString(file, "second\n");
      own.cancel("j1");
      own.execute("j1", event -> {}).await();
    } finally {
      guarded.shutdownNow().awaitTermination();
    }
    assertEquals(List.of("Bearer first", "Bearer second", "Bearer second"), shown);
  }

  @Test
  void credentialsOfStoresAreNotSentWhereOthersCouldReadThem() {
    StoreCredentials brought =
        StoreCredentials.newBuilder().setUrl("s3://lake").setAccessKey("key").setSecretKey("hidden").build();
    Credentials clear = new Credentials(Optional.empty(), Optional.empty());
    try (JumpgateClient far = JumpgateClient.connect("192.0.2.1:7411", Duration.ofSeconds(30), clear)) {
      List<Executable> calls = List.of(()
                                           -> far.submit(SubmitRequest.newBuilder().addCredentials(brought).build()),
          ()
              -> far.explain(ExplainRequest.newBuilder().addCredentials(brought).build()),
          ()
              -> far.prepare(Dataflow.getDefaultInstance(), List.of(brought), 0),
          () -> far.look(LookRequest.newBuilder().addCredentials(brought).build()));
      for (Executable call : calls) {
        JumpgateException refused = assertThrows(JumpgateException.class, call);
        assertTrue(refused.is(ErrorCode.FORBIDDEN) && refused.getMessage().contains("not encrypted"));
        assertFalse(refused.getMessage().contains("hidden"));
      }
    }
    client.explain(ExplainRequest.newBuilder().addCredentials(brought).build()); // which stays on this machine
  }

  @Test
  void whatIsAnswered() throws InterruptedException {
    service.submitted = SubmitResponse.newBuilder()
                            .setJobId("j7")
                            .addInstances("f0.0")
                            .setStages(2)
                            .setEdge("e3")
                            .setProducers(4)
                            .setFormat(format())
                            .setToken("secret")
                            .setExplainJson("{\"ncas\": [\"join\", \"scan\"]}")
                            .build();
    Job job = client.submit(SubmitRequest.getDefaultInstance());
    assertEquals(
        new Job("j7", List.of("f0.0"), 2, "e3", 4, DESCRIPTOR, "secret", null, "{\"ncas\": [\"join\", \"scan\"]}"),
        job);
    assertEquals(List.of("join", "scan"), job.ncas());
    assertFalse(job.toString().contains("secret"));
    List<String> states = new ArrayList<>();
    Execution execution = client.execute(job.id(), event -> states.add(event.getState()));
    assertEquals("{}", execution.await().getDetailJson());
    assertEquals(List.of("running", "done"), states);
    execution.onFailure(error -> states.add("failed"));
    execution.cancel();
    assertEquals("done", execution.await().getState());
    assertEquals(2, states.size());
    client.cancel("j7");
    assertEquals("j7", service.cancelled);
    assertEquals("a plan", client.explain(ExplainRequest.getDefaultInstance()).getText());
  }

  @Test
  void aFormatThatContradictsItself() {
    service.submitted = SubmitResponse.newBuilder().setFormat(format().setFingerprint("00")).build();
    JumpgateException error =
        assertThrows(JumpgateException.class, () -> client.submit(SubmitRequest.getDefaultInstance()));
    assertEquals("protocol", error.code());
    assertTrue(error.getMessage().contains("the descriptor's fields contradict its text"), error.getMessage());
  }

  @Test
  void typedErrorsKeepTheirCode() {
    service.status = Status.INVALID_ARGUMENT;
    service.error =
        "{\"code\": \"cannot_place\", \"message\": \"64 bits \\u2014 \\u00e9\", \"fields\": {\"operator\": \"join\"}}";
    JumpgateException error =
        assertThrows(JumpgateException.class, () -> client.submit(SubmitRequest.getDefaultInstance()));
    assertEquals("cannot_place", error.code());
    assertEquals("64 bits — é", error.getMessage());
    assertEquals(Map.of("operator", "join"), error.fields());
    assertFalse(error.isUnreachable());
  }

  @Test
  void unknownErrorsKeepTheirCodeAndNameIt() {
    service.status = Status.INVALID_ARGUMENT;
    service.error = "{\"code\": \"tides\", \"message\": \"the moon is full\"}";
    JumpgateException error =
        assertThrows(JumpgateException.class, () -> client.submit(SubmitRequest.getDefaultInstance()));
    assertEquals("tides", error.code());
    assertEquals("the moon is full (error 'tides', which this client is too old to know)", error.getMessage());
    assertEquals(Fault.UNKNOWN, Fault.of(error));
  }

  @Test
  void errorsOfARunningJob() throws InterruptedException {
    service.status = Status.INTERNAL;
    service.error = "{\"code\": \"instance_failed\", \"message\": \"f0.0 was killed\"}";
    Execution execution = client.execute("j1", event -> {});
    CompletableFuture<JumpgateException> told = new CompletableFuture<>();
    execution.onFailure(told::complete);
    JumpgateException error = assertThrows(JumpgateException.class, execution::await);
    assertEquals("instance_failed", error.code());
    assertTrue(error.isUnreachable());
    assertEquals(error, told.join());
    assertTrue(execution.isDone());
  }

  @Test
  void statusesWithoutATypedError() {
    for (var expected :
        Map.of(Status.CANCELLED, "cancelled", Status.DEADLINE_EXCEEDED, "timed_out", Status.INTERNAL, "unreachable",
               Status.DATA_LOSS, "protocol")
            .entrySet()) {
      service.status = expected.getKey().withDescription("why");
      JumpgateException submitted =
          assertThrows(JumpgateException.class, () -> client.submit(SubmitRequest.getDefaultInstance()));
      assertEquals(expected.getValue(), submitted.code());
      assertTrue(submitted.getMessage().contains("why"), submitted.getMessage());
    }
    service.error = "no JSON";
    JumpgateException error = assertThrows(JumpgateException.class, () -> client.cancel("j1"));
    assertEquals("the service answered with an error that cannot be read", error.getMessage());
  }

  @Test
  void eventsThatEndEarly() {
    service.lastState = "running";
    JumpgateException error = assertThrows(JumpgateException.class, client.execute("j1", event -> {})::await);
    assertEquals("protocol", error.code());
    assertTrue(error.getMessage().contains("in state 'running', before it was done"), error.getMessage());
  }

  @Test
  void cancellingTellsTheService() throws Exception {
    service.holds = true;
    CountDownLatch running = new CountDownLatch(1);
    Execution execution = client.execute("j1", event -> running.countDown());
    assertTrue(running.await(60, TimeUnit.SECONDS));
    execution.cancel();
    assertEquals("cancelled", assertThrows(JumpgateException.class, execution::await).code());
    assertTrue(service.gone.get(60, TimeUnit.SECONDS));
  }

  @Test
  void noService() throws InterruptedException {
    server.shutdownNow().awaitTermination();
    JumpgateException error =
        assertThrows(JumpgateException.class, () -> client.submit(SubmitRequest.getDefaultInstance()));
    assertEquals("unreachable", error.code());
    assertTrue(error.getMessage().contains("no Jumpgate service answers at " + client.address()), error.getMessage());
    assertEquals("unreachable", assertThrows(JumpgateException.class, client.execute("j1", e -> {})::await).code());
  }
}
