package io.jumpgate.client;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What a client shows to a service. {@code tls}: the folder of this machine's certificate ({@code jumpgate certs issue}
 * writes one); empty: that of {@code JUMPGATE_TLS} where the service is not on this machine, else the connection is in
 * clear. {@code tokenFile}; empty: the file of {@code JUMPGATE_TOKEN_FILE}, else where a service of this user on this
 * machine has left its token.
 */
public record Credentials(Optional<Path> tls, Optional<Path> tokenFile) {
  /** As the environment says. */
  public static final Credentials DEFAULT = new Credentials(Optional.empty(), Optional.empty());

  private static final Set<PosixFilePermission> OWN =
      Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

  /** The folder of certificates for a connection to host:port, if it is encrypted. */
  Optional<Path> folder(String address, Map<String, String> environment) {
    return tls.or(
        () -> isHere(address) ? Optional.empty() : Optional.ofNullable(environment.get("JUMPGATE_TLS")).map(Path::of));
  }

  /** Both ends show a certificate of the folder's authority. Raises {@code config}. */
  static SslContext context(Path folder) {
    Path key = folder.resolve("key.pem");
    try {
      if (!OWN.containsAll(Files.getPosixFilePermissions(key))) {
        throw config("others may read " + key + ": chmod 600 it");
      }
      return GrpcSslContexts.forClient()
          .protocols("TLSv1.3")
          .trustManager(folder.resolve("ca.pem").toFile())
          .keyManager(folder.resolve("cert.pem").toFile(), key.toFile())
          .build();
    } catch (IOException | IllegalArgumentException e) {
      throw config(
          "the certificates in %s cannot be used: %s; such a folder holds ca.pem, cert.pem and key.pem".formatted(
              folder, e.getMessage()));
    }
  }

  /** Whether only this machine is reached by host:port. */
  static boolean isHere(String address) {
    String host = address.substring(0, Math.max(0, address.lastIndexOf(':'))).replaceAll("[\\[\\]]", "");
    try { // names are not looked up: none but this one is for certain this machine's
      return host.equals("localhost")
          || host.matches("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*") && InetAddress.getByName(host).isLoopbackAddress();
    } catch (IOException e) {
      return false;
    }
  }

  private static JumpgateException config(String message) {
    return new JumpgateException(ErrorCode.CONFIG, message);
  }
}
