package io.jumpgate.client;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.v1.CancelRequest;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.DescribeRequest;
import io.jumpgate.v1.Event;
import io.jumpgate.v1.ExecuteRequest;
import io.jumpgate.v1.ExplainRequest;
import io.jumpgate.v1.ExplainResponse;
import io.jumpgate.v1.JobDescription;
import io.jumpgate.v1.JumpgateGrpc;
import io.jumpgate.v1.LookRequest;
import io.jumpgate.v1.LookResponse;
import io.jumpgate.v1.OpenGroupRequest;
import io.jumpgate.v1.PrepareRequest;
import io.jumpgate.v1.ReceiveRequest;
import io.jumpgate.v1.ReceiveResponse;
import io.jumpgate.v1.StoreCredentials;
import io.jumpgate.v1.SubmitRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A connection to a Jumpgate service. Thread-safe; every call raises {@link JumpgateException}, as the service raised
 * it, or
 * {@code unreachable} where none answers.
 */
public final class JumpgateClient implements AutoCloseable {
  private static final int MESSAGE_BYTES_MAX = 256 << 20;
  /** Of the time for a call, for a sign of life of a service that has given one before: 1.5 s of 60, and no less. */
  private static final int PATIENCE_SHARE = 40;
  private static final Duration PATIENCE_MIN = Duration.ofMillis(1500);
  /** The same for the first one, when both ends may still be loading their classes: 5 s of 60, and no less. */
  private static final int FIRST_PATIENCE_SHARE = 12;
  private static final Duration FIRST_PATIENCE_MIN = Duration.ofSeconds(5);
  private static final int METADATA_BYTES_MAX = 1 << 20; // a typed error travels as metadata
  private static final Metadata.Key<String> ERROR = Metadata.Key.of("jumpgate-error", Metadata.ASCII_STRING_MARSHALLER);

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> PROTOCOL =
      Metadata.Key.of("jumpgate-protocol", Metadata.ASCII_STRING_MARSHALLER);
  /** The version of the service's calls that this client speaks. */
  private static final String VERSION = "1";

  private final String address;
  private final Duration timeout;
  private final Credentials credentials;
  private final boolean isPrivate; // nobody else reads what is sent
  private final ManagedChannel channel;
  private final Pulse pulse = new Pulse(this::silence);
  private volatile boolean hasAnswered;

  private JumpgateClient(String address, Duration timeout, Credentials credentials) {
    this.address = address;
    this.timeout = timeout;
    this.credentials = credentials;
    shown(); // a token that cannot be read is an error at once
    NettyChannelBuilder builder = NettyChannelBuilder.forTarget(Tokens.local(address))
                                      .usePlaintext()
                                      .proxyDetector(target -> null)
                                      .maxInboundMessageSize(MESSAGE_BYTES_MAX)
                                      .maxInboundMetadataSize(METADATA_BYTES_MAX);
    Optional<Path> tls = credentials.folder(address, System.getenv());
    tls.ifPresent(folder -> builder.useTransportSecurity().sslContext(Credentials.context(folder)));
    this.isPrivate = tls.isPresent() || Credentials.isHere(address);
    this.channel = builder.build();
  }

  /** Of the service at host:port; connects when it is first used. {@code timeout} is that of every call but execute. */
  public static JumpgateClient connect(String address, Duration timeout) {
    return connect(address, timeout, Credentials.DEFAULT);
  }

  /** The same with these credentials. Raises {@code config} where they cannot be used. */
  public static JumpgateClient connect(String address, Duration timeout, Credentials credentials) {
    return new JumpgateClient(address, timeout, credentials);
  }

  public String address() {
    return address;
  }

  /** Plans and compiles a dataflow, whose root is a Send that names the client's endpoints. */
  public Job submit(SubmitRequest request) {
    requirePrivate(request.getCredentialsCount());
    try {
      return Job.of(ask(stub -> stub.submit(request)));
    } catch (IllegalArgumentException e) {
      throw new JumpgateException(
          ErrorCode.PROTOCOL, "the service answered with a format unknown here: " + e.getMessage());
    }
  }

  /** Runs a submitted job, once. {@code listener} gets its events, on a thread of the channel's. */
  public Execution execute(String jobId, Consumer<Event> listener) {
    Context.CancellableContext context = Context.ROOT.withCancellation();
    Execution execution = new Execution(context);
    ExecuteRequest request = ExecuteRequest.newBuilder().setJobId(jobId).build();
    StreamObserver<Event> observer = execution.observer(listener, this::typed);
    Channel shown = authorized();
    context.run(() -> JumpgateGrpc.newStub(shown).execute(request, observer));
    return execution;
  }

  /** The id of a group of receivers that will share a result. */
  public String openGroup(int receivers) {
    OpenGroupRequest request = OpenGroupRequest.newBuilder().setReceivers(receivers).build();
    return ask(stub -> stub.openGroup(request)).getGroup();
  }

  /** Begins to receive a result; {@code told} gets what the service says, on a thread of the channel's. */
  StreamObserver<ReceiveRequest> receive(ReceiveListener told) {
    Channel shown = authorized();
    List<StreamObserver<ReceiveRequest>> call = new ArrayList<>(1);
    Context.ROOT.run(() -> call.add(JumpgateGrpc.newStub(shown).receive(new StreamObserver<>() {
      @Override
      public void onNext(ReceiveResponse response) {
        told.hear(response);
      }

      @Override
      public void onError(Throwable error) {
        told.fail(typed(error));
      }

      @Override
      public void onCompleted() {
        told.end();
      }
    })));
    return call.get(0);
  }

  /** Who receives a result. */
  interface ReceiveListener {
    void hear(ReceiveResponse response);

    void fail(JumpgateException error);

    /** The job has ended well. */
    void end();
  }

  /** Ends a job wherever it is; not an error if it has ended. */
  public void cancel(String jobId) {
    ask(stub -> stub.cancel(CancelRequest.newBuilder().setJobId(jobId).build()));
  }

  /** What is known about a job; its record is JSON. */
  public JobDescription describe(String jobId) {
    return ask(stub -> stub.describe(DescribeRequest.newBuilder().setJobId(jobId).build()));
  }

  /** A job's report: its timeline, plan and counters as one HTML page without scripts or links. */
  public String report(String jobId) {
    return ask(stub -> stub.describe(DescribeRequest.newBuilder().setJobId(jobId).setPage(true).build())).getPage();
  }

  /** The plan of a dataflow, the reasons for it, and what it is expected to take; nothing is compiled or run. */
  public ExplainResponse explain(ExplainRequest request) {
    requirePrivate(request.getCredentialsCount());
    return ask(stub -> stub.explain(request));
  }

  /**
   * The seconds for which a job of a dataflow would wait for hosts and programs, as estimated. If they are more than
   * {@code patience}, these are made ready meanwhile. {@code rights}: what reads its stores; empty: the service's own.
   */
  public double prepare(Dataflow dataflow, List<StoreCredentials> rights, double patience) {
    requirePrivate(rights.size());
    PrepareRequest request = PrepareRequest.newBuilder()
                                 .setDataflow(dataflow)
                                 .addAllCredentials(rights)
                                 .setPatienceSeconds(patience)
                                 .build();
    return ask(stub -> stub.prepare(request)).getSeconds();
  }

  /** What paths name on the service's hosts, as a Read of all columns. */
  public LookResponse look(LookRequest request) {
    requirePrivate(request.getCredentialsCount());
    return ask(stub -> stub.look(request));
  }

  /** Jobs that still run are cancelled. */
  @Override
  public void close() {
    pulse.close();
    channel.shutdownNow();
  }

  /** Raises {@code forbidden} for credentials of stores that others could read on their way. */
  private void requirePrivate(int brought) {
    if (brought > 0 && !isPrivate) {
      String message = "credentials of stores are not sent to " + address + ", as the connection is not encrypted: "
          + "give the client a folder with a certificate, or set JUMPGATE_TLS (docs/security.md)";
      throw new JumpgateException(ErrorCode.FORBIDDEN, message, Map.of("address", address));
    }
  }

  private Metadata shown() {
    Metadata shown = new Metadata();
    shown.put(PROTOCOL, VERSION);
    Tokens.find(address, credentials.tokenFile(), System.getenv())
        .ifPresent(token -> shown.put(AUTHORIZATION, "Bearer " + token));
    return shown;
  }

  /** Returns the state of the channel, which tells the calls that wait for a connection first that it failed. */
  ConnectivityState state() {
    return channel.getState(false);
  }

  /**
   * Shows the token that is the service's now: one that was started again has another. A channel whose last connection
   * failed connects anew at once; left alone it would refuse calls until its back-off ends.
   */
  private Channel authorized() {
    if (state() == ConnectivityState.TRANSIENT_FAILURE) {
      channel.enterIdle();
    }
    return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(shown()));
  }

  private <T> T ask(Function<JumpgateGrpc.JumpgateBlockingStub, T> call) {
    pulse.require();
    return ask(call, timeout);
  }

  private <T> T ask(Function<JumpgateGrpc.JumpgateBlockingStub, T> call, Duration patience) {
    try {
      return call.apply(
          JumpgateGrpc.newBlockingStub(authorized()).withDeadlineAfter(patience.toNanos(), TimeUnit.NANOSECONDS));
    } catch (StatusRuntimeException e) {
      throw typed(e);
    }
  }

  /** Why the service says nothing for a short while, if it does not; whatever it says is an answer. */
  private Optional<JumpgateException> silence() {
    Duration patience = hasAnswered ? longer(timeout.dividedBy(PATIENCE_SHARE), PATIENCE_MIN)
                                    : longer(timeout.dividedBy(FIRST_PATIENCE_SHARE), FIRST_PATIENCE_MIN);
    try {
      ask(stub -> stub.describe(DescribeRequest.getDefaultInstance()), patience);
    } catch (JumpgateException e) {
      if (e.is(ErrorCode.TIMED_OUT)) {
        return Optional.of(unreachable("nothing came within " + patience.toMillis() + " ms"));
      }
      if (e.isUnreachable()) {
        return Optional.of(e);
      }
    }
    hasAnswered = true;
    return Optional.empty();
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? other : one;
  }

  /** The error that the service put into the trailing metadata, or what the status says. */
  private JumpgateException typed(Throwable error) {
    Status status = Status.fromThrowable(error);
    Metadata trailers = Status.trailersFromThrowable(error);
    String json = trailers == null ? null : trailers.get(ERROR);
    if (json != null) {
      return parse(json);
    }
    ErrorCode code = switch (status.getCode()) {
      // the service's own errors are typed: an internal one is the connection's
      case UNAVAILABLE, INTERNAL -> ErrorCode.UNREACHABLE;
      case CANCELLED -> ErrorCode.CANCELLED;
      case DEADLINE_EXCEEDED -> ErrorCode.TIMED_OUT;
      default -> ErrorCode.PROTOCOL;
    };
    if (code == ErrorCode.UNREACHABLE) {
      return unreachable(status.getDescription());
    }
    String message = "the service at %s answered %s: %s".formatted(address, status.getCode(), status.getDescription());
    return new JumpgateException(code, message, Map.of("address", address));
  }

  private JumpgateException unreachable(String why) {
    String message =
        "no Jumpgate service answers at %s (%s); start one with `jumpgate serve`, or correct the address".formatted(
            address, why);
    return new JumpgateException(ErrorCode.UNREACHABLE, message, Map.of("address", address));
  }

  private static JumpgateException parse(String json) {
    try {
      JsonObject object = JsonParser.parseString(json).getAsJsonObject();
      Map<String, String> fields = new LinkedHashMap<>();
      JsonElement places = object.get("fields");
      if (places != null) {
        places.getAsJsonObject().asMap().forEach((name, value) -> fields.put(name, value.getAsString()));
      }
      String code = object.get("code").getAsString();
      String message = object.get("message").getAsString();
      return new JumpgateException(code,
          ErrorCode.named(code).isPresent()
              ? message
              : "%s (error '%s', which this client is too old to know)".formatted(message, code),
          fields);
    } catch (JsonParseException | IllegalStateException | NullPointerException e) {
      return new JumpgateException(ErrorCode.PROTOCOL, "the service answered with an error that cannot be read");
    }
  }
}
