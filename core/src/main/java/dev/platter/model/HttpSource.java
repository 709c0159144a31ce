package dev.platter.model;

/**
 * A raw file on a web server, which can only be read.
 *
 * @param path with the query, without the first slash
 */
public record HttpSource(boolean tls, Endpoint host, String path) implements Source {
  @Override
  public String kind() {
    return tls ? "https" : "http";
  }

  @Override
  public String toString() {
    return kind() + "://" + host + "/" + path;
  }
}
