package io.jumpgate.client;

import io.jumpgate.JumpgateException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.logging.Logger;

/** Running a job again that failed before anybody saw a row of it. */
final class Retry {
  private static final Logger LOG = Logger.getLogger(Retry.class.getName());
  private static final Set<String> OF_DEVICES = Set.of("instance_failed", JumpgateException.UNREACHABLE, "capacity");
  private static final String FILE_CHANGED = "file_changed";
  private static final String NO_OTHER_DEVICE = "cannot_place";

  private Retry() {}

  /** Whether a device failed, not the query, its data or the service; or a file has changed since it was planned. */
  static boolean mayHelp(JumpgateException failure) {
    return failure.code().equals(FILE_CHANGED) || device(failure).isPresent();
  }

  /** What {@code start} starts without the device that failed; with it, if no other can do its work. */
  static <T> T after(JumpgateException failure, Function<List<String>, T> start) {
    Optional<String> device = device(failure);
    String without = device.map(name -> " without " + name).orElse("");
    LOG.warning("a job is run again%s: %s".formatted(without, failure.getMessage()));
    try {
      return start.apply(device.stream().toList());
    } catch (JumpgateException e) {
      if (device.isPresent() && e.code().equals(NO_OTHER_DEVICE)) {
        LOG.warning("it is run again with %s: no other device can do its work".formatted(device.get()));
        return start.apply(List.of());
      }
      throw e;
    }
  }

  /** The one that failed, as plans name it. */
  private static Optional<String> device(JumpgateException failure) {
    return OF_DEVICES.contains(failure.code())
        ? Optional.ofNullable(failure.fields().getOrDefault("device", failure.fields().get("host")))
        : Optional.empty();
  }
}
