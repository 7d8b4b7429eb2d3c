package io.jumpgate.client;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Finds the token that a service wants to see: in a file that is given, or that {@code JUMPGATE_TOKEN_FILE} names, else
 * where a service of this user on this machine has left it (jumpgate/trust/tokens.py).
 */
final class Tokens {
  private Tokens() {}

  /** Of the service at host:port, if there is one. */
  static Optional<String> find(String address, Optional<Path> given, Map<String, String> environment) {
    Path chosen =
        given.or(() -> Optional.ofNullable(environment.get("JUMPGATE_TOKEN_FILE")).map(Path::of)).orElse(null);
    Path file = chosen != null ? chosen : state(environment).resolve("services").resolve(local(address));
    try {
      return Files.readString(file).lines().findFirst().map(String::strip);
    } catch (IOException e) {
      if (chosen != null) {
        throw new JumpgateException(ErrorCode.CONFIG, "cannot read the token file " + chosen + ": " + e.getMessage());
      }
      return Optional.empty();
    }
  }

  /** As the service calls itself: nobody who listens at ::1 is to be taken for it. */
  static String local(String address) {
    return address.startsWith("localhost:") ? "127.0.0.1" + address.substring("localhost".length()) : address;
  }

  private static Path state(Map<String, String> environment) {
    String own = environment.get("JUMPGATE_STATE_DIR");
    String home = environment.getOrDefault("HOME", System.getProperty("user.home"));
    return own != null ? Path.of(own) : Path.of(home, ".jumpgate");
  }
}
