package dev.platter.cluster.webhook;

import dev.platter.node.x509.Authority;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Clock;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the webhook's certificate in a Secret, makes and renews it, and tells the API server of it.
 * Each replica calls {@link #refresh} now and then; who is faster writes, the others read. Level
 * triggered: a Secret that was emptied, or a configuration that was applied anew, is put right.
 */
public final class ServingCertificates {
  private static final int MOST_TRIES = 5;

  private final CertificateStore store;
  private final String host;
  private final Clock clock;
  private volatile @Nullable ServingMaterial current;

  /**
   * @param host what the API server calls: {@code SERVICE.NAMESPACE.svc}
   */
  public ServingCertificates(CertificateStore store, String host, Clock clock) {
    this.store = store;
    this.host = host;
    this.clock = clock;
  }

  /** Whether there is a certificate, and the API server was told to trust it. */
  public boolean ready() {
    return current != null;
  }

  /** Once at the start, then every hour or so; a failure is to be tried again soon. */
  public void refresh() {
    for (var i = 0; i < MOST_TRIES; i++) {
      var stored = store.read();
      var before = ServingMaterial.read(stored.data());
      var after = ServingMaterial.next(before, host, clock.instant());
      if (after.equals(before) || store.replace(stored.version(), after.data())) {
        store.trust(after.bundle());
        current = after;
        return;
      }
    }
    throw new IllegalStateException("others change the webhook's certificate all the time");
  }

  /**
   * The authority itself, for what else it is to sign.
   *
   * @throws IllegalStateException before the first {@link #refresh}
   */
  public Authority signer() {
    return material().signer();
  }

  /** What clients have to trust, in PEM; as {@link #signer}. */
  byte[] bundle() {
    return material().bundle();
  }

  private ServingMaterial material() {
    var material = current;
    if (material == null) {
      throw new IllegalStateException("there is no certificate yet");
    }
    return material;
  }

  /**
   * Of servers that show whatever certificate is the current one. Clients may show one too, if they
   * are asked for it: whose it is matters to who asked.
   */
  public SSLContext context() {
    try {
      var context = SSLContext.getInstance("TLS");
      context.init(new KeyManager[] {new CurrentKey()}, new TrustManager[] {new AnyClient()}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has TLS", e);
    }
  }

  /** Asked at each handshake, so a renewed certificate needs no restart. */
  private final class CurrentKey extends X509ExtendedKeyManager {
    private static final String ALIAS = "webhook";

    @Override
    public @Nullable String chooseEngineServerAlias(
        String keyType, Principal @Nullable [] issuers, SSLEngine engine) {
      return current == null || !keyType.startsWith("EC") ? null : ALIAS;
    }

    @Override
    public @Nullable String chooseServerAlias(
        String keyType, Principal @Nullable [] issuers, Socket socket) {
      return current == null || !keyType.startsWith("EC") ? null : ALIAS;
    }

    @Override
    public X509Certificate @Nullable [] getCertificateChain(String alias) {
      var material = current;
      return material == null ? null : new X509Certificate[] {material.certificate()};
    }

    @Override
    public @Nullable PrivateKey getPrivateKey(String alias) {
      var material = current;
      return material == null ? null : material.key();
    }

    @Override
    public String @Nullable [] getServerAliases(String keyType, Principal @Nullable [] issuers) {
      return new String[] {ALIAS};
    }

    @Override
    public String @Nullable [] getClientAliases(String keyType, Principal @Nullable [] issuers) {
      return null;
    }

    @Override
    public @Nullable String chooseClientAlias(
        String[] keyType, Principal @Nullable [] issuers, Socket socket) {
      return null;
    }
  }
}
