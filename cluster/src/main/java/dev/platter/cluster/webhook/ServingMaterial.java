package dev.platter.cluster.webhook;

import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import java.io.ByteArrayOutputStream;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The webhook's certificate, its key, and the authorities that the API server is told to trust: the
 * current one first, with it the one before.
 *
 * <p>A certificate is replaced after two thirds of its time, an authority after two thirds of its.
 * A new authority signs nothing at first: the certificate in use stays, and by the time it is
 * replaced, months later, everybody has long been told of the new authority. So no moment is there
 * in which the API server would not trust what it is shown.
 */
record ServingMaterial(
    PrivateKey authorityKey,
    List<X509Certificate> authorities,
    PrivateKey key,
    X509Certificate certificate) {
  static final String CA_KEY = "ca.key";
  static final String CA = "ca.crt";
  static final String KEY = "tls.key";
  static final String CERTIFICATE = "tls.crt";

  private static final Duration AUTHORITY_TIME = Duration.ofDays(3650);
  private static final Duration SERVER_TIME = Duration.ofDays(365);

  ServingMaterial {
    authorities = List.copyOf(authorities);
  }

  /** What should be used from now on; the same if nothing has to change. */
  static ServingMaterial next(@Nullable ServingMaterial current, String host, Instant now) {
    if (current == null
        || over(current.authority(), now)
        || !current.names(host)
        || !current.signed()) {
      return fresh(host, now);
    }
    if (due(current.authority(), now)) {
      var authority = newAuthority(now);
      return new ServingMaterial(
          authority.key(),
          List.of(authority.certificate(), current.authority()),
          current.key,
          current.certificate);
    }
    return due(current.certificate, now) ? current.renewed(host, now) : current;
  }

  private static ServingMaterial fresh(String host, Instant now) {
    var authority = newAuthority(now);
    var server = server(authority, host, now);
    return new ServingMaterial(
        authority.key(), List.of(authority.certificate()), server.key(), server.certificate());
  }

  private ServingMaterial renewed(String host, Instant now) {
    var server = server(signer(), host, now);
    return new ServingMaterial(authorityKey, authorities, server.key(), server.certificate());
  }

  /** The authority that signs from now on. */
  Authority signer() {
    return new Authority(authorityKey, authority());
  }

  private static Authority newAuthority(Instant now) {
    // Two authorities of one name would be taken for one another.
    var name = "Platter webhook CA " + now.getEpochSecond();
    return Authority.make(name, Validity.of(now, AUTHORITY_TIME));
  }

  private static Authority.Server server(Authority authority, String host, Instant now) {
    return authority.server(
        "platter-webhook", List.of(Authority.Name.dns(host)), Validity.of(now, SERVER_TIME));
  }

  private X509Certificate authority() {
    return authorities.getFirst();
  }

  private static boolean over(X509Certificate certificate, Instant now) {
    return certificate.getNotAfter().toInstant().isBefore(now);
  }

  private static boolean due(X509Certificate certificate, Instant now) {
    var from = certificate.getNotBefore().toInstant();
    var time = Duration.between(from, certificate.getNotAfter().toInstant());
    return from.plus(time.multipliedBy(2).dividedBy(3)).isBefore(now);
  }

  private boolean names(String host) {
    try {
      var names = certificate.getSubjectAlternativeNames();
      return names != null && names.stream().anyMatch(name -> name.contains(host));
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  private boolean signed() {
    return authorities.stream()
        .anyMatch(
            authority -> {
              try {
                certificate.verify(authority.getPublicKey());
                return true;
              } catch (GeneralSecurityException e) {
                return false;
              }
            });
  }

  byte[] bundle() {
    var out = new ByteArrayOutputStream();
    authorities.forEach(authority -> out.writeBytes(Pem.of(authority)));
    return out.toByteArray();
  }

  /** As the data of a Secret. */
  Map<String, byte[]> data() {
    return Map.of(
        CA_KEY, Pem.of(authorityKey),
        CA, bundle(),
        KEY, Pem.of(key),
        CERTIFICATE, Pem.of(certificate));
  }

  /** Null if it is not all there, or not what we wrote. */
  static @Nullable ServingMaterial read(Map<String, byte[]> data) {
    try {
      var authorities = Pem.certificates(data.getOrDefault(CA, new byte[0]));
      var certificates = Pem.certificates(data.getOrDefault(CERTIFICATE, new byte[0]));
      if (authorities.isEmpty() || certificates.size() != 1) {
        return null;
      }
      return new ServingMaterial(
          Pem.key(data.getOrDefault(CA_KEY, new byte[0])),
          authorities,
          Pem.key(data.getOrDefault(KEY, new byte[0])),
          certificates.getFirst());
    } catch (GeneralSecurityException e) {
      return null;
    }
  }
}
