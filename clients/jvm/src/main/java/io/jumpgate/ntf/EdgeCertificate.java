package io.jumpgate.ntf;

import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * PEM texts that only the instances of one job and its client have. Each end of an encrypted edge shows the
 * certificate, and believes no other (docs/security.md).
 */
public record EdgeCertificate(String certificate, String key) implements Serializable {
  private static final String PROTOCOL = "TLSv1.3";

  /** Of a consumer's connection. Raises {@code protocol} where the texts are no such pair. */
  SSLEngine engine() {
    SSLEngine engine = context().createSSLEngine();
    engine.setUseClientMode(false);
    engine.setNeedClientAuth(true);
    engine.setEnabledProtocols(new String[] {PROTOCOL});
    return engine;
  }

  /** Of either end. */
  SSLContext context() {
    try {
      X509Certificate own = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(
          new ByteArrayInputStream(certificate.getBytes(StandardCharsets.US_ASCII)));
      byte[] der = Base64.getMimeDecoder().decode(key.replaceAll("-----[A-Z ]+-----", ""));
      PrivateKey secret =
          KeyFactory.getInstance(own.getPublicKey().getAlgorithm()).generatePrivate(new PKCS8EncodedKeySpec(der));
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      store.setKeyEntry("job", secret, new char[0], new X509Certificate[] {own});
      KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, new char[0]);
      SSLContext context = SSLContext.getInstance(PROTOCOL);
      context.init(keys.getKeyManagers(), new TrustManager[] {new Same(own)}, null);
      return context;
    } catch (GeneralSecurityException | IOException | IllegalArgumentException e) {
      throw new JumpgateException(ErrorCode.PROTOCOL, "the job's certificate cannot be used: " + e.getMessage());
    }
  }

  @Override
  public String toString() {
    return "EdgeCertificate[…]";
  }

  /** Believes one certificate. */
  private static final class Same extends X509ExtendedTrustManager {
    private final X509Certificate own;

    Same(X509Certificate own) {
      this.own = own;
    }

    private void check(X509Certificate[] chain) throws CertificateException {
      if (chain.length == 0 || !chain[0].equals(own)) {
        throw new CertificateException("not the certificate of the job");
      }
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
      check(chain);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
