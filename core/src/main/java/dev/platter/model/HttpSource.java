package dev.platter.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A raw file on a web server, which can only be read.
 *
 * @param path with the query, without the first slash
 * @param ca where the certificates are that the server's must be signed by; null if it is one that
 *     everybody trusts
 * @param headers to send with each request
 */
public record HttpSource(
    boolean tls, Endpoint host, String path, @Nullable SecretRef ca, List<Header> headers)
    implements Source {
  public HttpSource {
    headers = List.copyOf(headers);
  }

  /** A header whose value is a secret. */
  public record Header(String name, SecretRef value) {}

  /** For which there is nothing to know. */
  public HttpSource(boolean tls, Endpoint host, String path) {
    this(tls, host, path, null, List.of());
  }

  /** Whether there is something to know, which QEMU cannot be told. */
  public boolean needsSecrets() {
    return ca != null || !headers.isEmpty();
  }

  @Override
  public String kind() {
    return tls ? "https" : "http";
  }

  @Override
  public String toString() {
    return kind() + "://" + host + "/" + path;
  }
}
