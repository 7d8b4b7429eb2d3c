package io.jumpgate.client;

import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.Descriptor;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.TestProducer;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.JumpgateGrpc;
import io.jumpgate.v1.NetworkTupleFormat;
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

/** A service that says to its one receiver what a test wants said; its jobs' rows have one column, {@code a}. */
public final class FakeService extends JumpgateGrpc.JumpgateImplBase implements AutoCloseable {
  private static final Descriptor DESCRIPTOR = Descriptor.columnar(List.of(new Field("a", DataType.INT64)));

  private final Server server;
  private final JumpgateClient client;
  private final BlockingQueue<ReceiveRequest> steps = new LinkedBlockingQueue<>();
  private final CompletableFuture<Throwable> gone = new CompletableFuture<>();
  private volatile StreamObserver<ReceiveResponse> receiver;

  public FakeService() throws IOException {
    server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(this).build().start();
    client = JumpgateClient.connect("127.0.0.1:" + server.getPort(), Duration.ofSeconds(30));
  }

  public JumpgateClient client() {
    return client;
  }

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

  /** The receiver's next step. */
  public ReceiveRequest heard() throws InterruptedException {
    return steps.poll(60, TimeUnit.SECONDS);
  }

  /** Where a receiver that joins wants its rows. */
  public static String endpoint(ReceiveRequest join) {
    Dataflow dataflow = join.getJoin().getRequest().getDataflow();
    return dataflow.getOperators(dataflow.getOperatorsCount() - 1).getSend().getEndpoints(0);
  }

  /** The job begins, and its producer has connected. */
  public TestProducer begin(String job, String endpoint) throws IOException {
    part(job, DESCRIPTOR.text());
    return TestProducer.admitted(endpoint, new Expected(job, "e", "t", DESCRIPTOR, 1, 1), 0);
  }

  void part(String job, String descriptor) {
    NetworkTupleFormat.Builder format =
        NetworkTupleFormat.newBuilder().setText(descriptor).setFingerprint(DESCRIPTOR.fingerprint());
    format.getSchemaBuilder().addFieldsBuilder().setName("a").setType(DataType.INT64.toProto());
    SubmitResponse submitted =
        SubmitResponse.newBuilder().setJobId(job).setEdge("e").setProducers(1).setFormat(format).setToken("t").build();
    receiver.onNext(ReceiveResponse.newBuilder().setPart(Part.newBuilder().setJob(submitted).setPartition(1)).build());
  }

  public void keep(String job) {
    receiver.onNext(ReceiveResponse.newBuilder().setKeep(job).build());
  }

  public void again(String why) {
    receiver.onNext(ReceiveResponse.newBuilder().setAgain(why).build());
  }

  public void end() {
    receiver.onCompleted();
  }

  void fail(String json) {
    Metadata trailers = new Metadata();
    trailers.put(Metadata.Key.of("jumpgate-error", Metadata.ASCII_STRING_MARSHALLER), json);
    receiver.onError(Status.UNAVAILABLE.asRuntimeException(trailers));
  }

  /** Done when the receiver has broken its call off. */
  CompletableFuture<Throwable> gone() {
    return gone;
  }

  @Override
  public void close() throws InterruptedException {
    client.close();
    server.shutdownNow().awaitTermination();
  }
}
