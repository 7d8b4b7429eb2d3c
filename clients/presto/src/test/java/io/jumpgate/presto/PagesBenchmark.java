package io.jumpgate.presto;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.RuntimeStats;
import com.sun.management.OperatingSystemMXBean;
import io.jumpgate.client.JumpgateClient;
import io.jumpgate.client.Share;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.presto.plan.SessionTime;
import io.jumpgate.presto.plan.Types;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/**
 * How fast a job's rows become pages: {@code PagesBenchmark ADDRESS REQUEST [ROUNDS]}, by default 9. The request, of a
 * service at the address, is a Dataflow without an end, in Base64. Prints a line of JSON: {@code pages_gb_per_core_s}
 * is payload by the time that this process had cores, with all that it does beside, after a third of the rounds.
 */
final class PagesBenchmark {
  private PagesBenchmark() {}

  public static void main(String[] arguments) {
    Unsent request = Unsent.parse(arguments[1]);
    int rounds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 9;
    OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    try (JumpgateClient client = JumpgateClient.connect(arguments[0], Duration.ofMinutes(5))) {
      long cpuNs = 0;
      long bytes = 0;
      for (int round = 0; round < rounds; round++) {
        if (round == rounds / 3) {
          bytes = 0;
          cpuNs = process.getProcessCpuTime();
        }
        bytes += receive(client, request);
      }
      double cpuS = (process.getProcessCpuTime() - cpuNs) / 1e9;
      System.out.printf("{\"gigabytes\": %.3f, \"cpu_s\": %.3f, \"pages_gb_per_core_s\": %.3f}%n", bytes / 1e9, cpuS,
          bytes / 1e9 / cpuS);
    }
  }

  /** The payload's bytes. */
  private static long receive(JumpgateClient client, Unsent request) {
    JumpgatePageSource source = JumpgatePageSource.open(
        client, request, Share.ALL, "127.0.0.1", new RuntimeStats(), new Types(null), SessionTime.of("UTC"));
    try {
      long rows = 0;
      while (!source.isFinished()) {
        Page page = source.getNextPage();
        if (page == null) {
          source.isBlocked().join();
        } else {
          rows += page.getPositionCount();
        }
      }
      if (rows != source.getCompletedPositions()) {
        throw new IllegalStateException(rows + " rows of " + source.getCompletedPositions());
      }
      return source.getCompletedBytes();
    } finally {
      source.close();
    }
  }
}
