package io.jumpgate.client;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.jumpgate.JumpgateException;
import io.jumpgate.ntf.Endpoint;
import io.jumpgate.ntf.Expected;
import io.jumpgate.ntf.Frame;
import io.jumpgate.ntf.FrameJson;
import io.jumpgate.ntf.MemoryAccount;
import io.jumpgate.v1.Dataflow;
import io.jumpgate.v1.Options;
import io.jumpgate.v1.Send;
import io.jumpgate.v1.SubmitRequest;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs a request and prints what came, a line of JSON for each frame, then one for the job: {@code RunMain ADDRESS
 * REQUEST PARALLELISM [cancel | HOST]}. The request is a serialised Dataflow; its endpoints become ones of this
 * process.
 * {@code cancel}: cancels the job after the first frame; {@code HOST}: the address at which this machine is reached.
 */
final class RunMain {
  private static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private RunMain() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Dataflow dataflow = Dataflow.parseFrom(Files.readAllBytes(Path.of(arguments[1])));
    Options options = Options.newBuilder().setParallelism(Integer.parseInt(arguments[2])).build();
    String last = arguments.length > 3 ? arguments[3] : "";
    boolean cancels = last.equals("cancel");
    String host = cancels || last.isEmpty() ? "127.0.0.1" : last;
    try (JumpgateClient client = JumpgateClient.connect(arguments[0], Duration.ofMinutes(5))) {
      run(client, dataflow, options, cancels, host);
      print(Map.of("done", true));
    } catch (JumpgateException error) {
      print(Map.of("code", error.code(), "message", error.getMessage(), "fields", error.fields()));
    }
  }

  private static void run(JumpgateClient client, Dataflow dataflow, Options options, boolean cancels, String host)
      throws InterruptedException {
    int root = dataflow.getOperatorsCount() - 1;
    Send.Builder send = dataflow.getOperators(root).getSend().toBuilder().clearEndpoints();
    List<Endpoint> endpoints = new ArrayList<>();
    for (int i = 0; i < send.getPartitioning().getCount(); i++) {
      endpoints.add(Endpoint.open(new InetSocketAddress(host, 0), host, MemoryAccount.UNLIMITED));
      send.addEndpoints(endpoints.get(i).address());
    }
    Dataflow.Builder request = dataflow.toBuilder();
    request.getOperatorsBuilder(root).setSend(send);
    ExecutorService readers = Executors.newFixedThreadPool(endpoints.size());
    try {
      Job job = client.submit(SubmitRequest.newBuilder().setDataflow(request).setOptions(options).build());
      for (int i = 0; i < endpoints.size(); i++) {
        endpoints.get(i).expect(
            new Expected(job.id(), job.edge(), job.token(), job.descriptor(), job.producers(), i, job.certificate()));
      }
      Execution execution = client.execute(job.id(), event -> {});
      execution.onFailure(error -> endpoints.forEach(endpoint -> endpoint.close(error)));
      List<Future<?>> reading = new ArrayList<>();
      for (Endpoint endpoint : endpoints) {
        reading.add(readers.submit(() -> read(endpoint, job, cancels ? client : null)));
      }
      JumpgateException failure = null;
      for (Future<?> each : reading) {
        try {
          each.get();
        } catch (ExecutionException e) {
          failure = (JumpgateException) e.getCause();
        }
      }
      execution.await(); // its error says more than that of an edge that broke off
      if (failure != null) {
        throw failure;
      }
    } finally {
      endpoints.forEach(Endpoint::close);
      readers.shutdownNow();
    }
  }

  private static void read(Endpoint endpoint, Job job, JumpgateClient cancels) {
    for (Frame frame = endpoint.next(); frame != null; frame = endpoint.next()) {
      try (Frame held = frame) {
        print(Map.of("rows", FrameJson.rows(held, job.descriptor())));
      }
      if (cancels != null) {
        cancels.cancel(job.id());
      }
    }
  }

  private static synchronized void print(Object line) {
    System.out.println(JSON.toJson(line));
  }
}
