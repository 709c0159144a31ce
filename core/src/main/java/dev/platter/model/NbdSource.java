package dev.platter.model;

import org.jspecify.annotations.Nullable;

/**
 * An export of an NBD server, on a TCP port or a socket of this machine.
 *
 * @param host null where there is a socket
 * @param socket null where there is a host
 * @param export the export's name; empty is the server's default
 * @param tls whether the connection is encrypted and the server must prove who it is
 */
public record NbdSource(
    @Nullable Endpoint host, @Nullable String socket, String export, boolean tls)
    implements Source {
  public static final int DEFAULT_PORT = 10809;

  @Override
  public String kind() {
    return "nbd";
  }
}
