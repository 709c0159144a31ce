package dev.platter.model;

/**
 * A TCP port of a storage server.
 *
 * @param host a name, or an address without brackets
 */
public record Endpoint(String host, int port) {
  private static final String HOST = "[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?";
  private static final String IPV6 = "[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9._-]{1,15})?";

  public Endpoint {
    if (!host.matches(HOST) && !host.matches(IPV6)) {
      throw new IllegalArgumentException("'" + host + "' is not the name or address of a host");
    }
    if (port < 1 || port > 65535) {
      throw new IllegalArgumentException("there is no port " + port);
    }
  }

  /** {@code host}, {@code host:port}, {@code ::1} or {@code [::1]:port}. */
  public static Endpoint parse(String text, int defaultPort) {
    var inBrackets = text.startsWith("[");
    var end = inBrackets ? text.indexOf(']') : text.indexOf(':');
    var many = !inBrackets && end != text.lastIndexOf(':');
    if (end < 0 || many) {
      return new Endpoint(text, defaultPort);
    }
    var host = text.substring(inBrackets ? 1 : 0, end);
    var rest = text.substring(inBrackets ? end + 1 : end);
    if (rest.isEmpty()) {
      return new Endpoint(host, defaultPort);
    }
    if (!rest.matches(":\\d{1,5}")) {
      throw new IllegalArgumentException("'" + text + "' is not HOST:PORT");
    }
    return new Endpoint(host, Integer.parseInt(rest.substring(1)));
  }

  /** With brackets around an address that has colons. */
  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
