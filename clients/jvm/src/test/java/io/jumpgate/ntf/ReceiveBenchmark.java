package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * How fast frames are received: {@code ReceiveBenchmark [GIGABYTES [FRAME_KIB [LAYOUT [PRODUCERS]]]]}, by default 8,
 * 256, columnar and 1. Prints a line of JSON: {@code receive_gb_per_core_s} is payload by the time that the receiving
 * thread had a core; {@code gb_per_s} by the clock, with the senders, which are threads of the same process, on the
 * other cores.
 */
final class ReceiveBenchmark {
  private static final int WARM_UP_FRAMES = 4000;

  private ReceiveBenchmark() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    double gigabytes = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 8;
    int frameBytes = (arguments.length > 1 ? Integer.parseInt(arguments[1]) : 256) << 10;
    Layout layout = arguments.length > 2 ? Layout.valueOf(arguments[2].toUpperCase()) : Layout.COLUMNAR;
    int producers = arguments.length > 3 ? Integer.parseInt(arguments[3]) : 1;
    List<Field> fields = List.of(new Field("item", DataType.INT64), new Field("day", DataType.DATE),
        new Field("price", DataType.decimal(7, 2)), new Field("name", DataType.STRING),
        new Field("share", DataType.FLOAT64));
    Descriptor descriptor = layout == Layout.COLUMNAR
        ? Descriptor.columnar(fields)
        : new Descriptor(Layout.ROW, ByteOrder.LITTLE_ENDIAN, false, 8, fields);
    List<List<Object>> rows = new ArrayList<>();
    byte[] payload;
    do {
      for (int i = 0; i < 512; i++) {
        long n = rows.size();
        rows.add(Arrays.asList(
            n * 31, n % 40_000, BigInteger.valueOf(n % 99_999), "item number " + n, n % 7 == 0 ? null : n / 3.0));
      }
      payload = FrameEncoder.payload(descriptor, rows);
    } while (payload.length < frameBytes);
    receive(descriptor, rows.size(), payload, WARM_UP_FRAMES, producers);
    int frames = (int) (gigabytes * 1e9 / payload.length / producers) + 1;
    System.out.println(receive(descriptor, rows.size(), payload, frames, producers));
  }

  private static String receive(Descriptor descriptor, int rows, byte[] payload, int frames, int producers)
      throws IOException, InterruptedException {
    Expected expected = new Expected("benchmark", "e0", "token", descriptor, producers, 0);
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    try (Endpoint endpoint =
             Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", MemoryAccount.UNLIMITED)) {
      endpoint.expect(expected);
      List<Thread> senders = new ArrayList<>();
      for (int producer = 0; producer < producers; producer++) {
        TestProducer sender = TestProducer.admitted(endpoint, expected, producer);
        byte[][] prepared = new byte[frames][]; // headers differ; the payload is shared
        for (int i = 0; i < frames; i++) {
          prepared[i] = sender.header(rows, payload);
        }
        Thread thread = new Thread(() -> send(sender, prepared, payload));
        thread.start();
        senders.add(thread);
      }
      long cpu = threads.getCurrentThreadCpuTime();
      long start = System.nanoTime();
      long bytes = 0;
      for (Frame frame = endpoint.next(); frame != null; frame = endpoint.next()) {
        bytes += frame.buffer().length();
        frame.close();
      }
      double cpuS = (threads.getCurrentThreadCpuTime() - cpu) / 1e9;
      double wallS = (System.nanoTime() - start) / 1e9;
      for (Thread sender : senders) {
        sender.join();
      }
      return ("{\"gigabytes\": %.3f, \"frame_bytes\": %d, \"layout\": \"%s\", \"producers\": %d, \"cpu_s\": %.3f, "
          + "\"gb_per_s\": %.2f, \"receive_gb_per_core_s\": %.2f}")
          .formatted(bytes / 1e9, payload.length, descriptor.layout().text(), producers, cpuS, bytes / 1e9 / wallS,
              bytes / 1e9 / cpuS);
    }
  }

  private static void send(TestProducer sender, byte[][] headers, byte[] payload) {
    try (sender) {
      for (byte[] header : headers) {
        sender.send(header, payload);
      }
      sender.send(sender.end());
      sender.awaitClosed();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
