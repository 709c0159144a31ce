package dev.platter.model;

import java.util.regex.Pattern;

/** A TCP port of the guest, reachable on this machine: {@code [ADDRESS:]PORT:GUESTPORT}. */
public record PortForward(String address, int port, int guestPort) {
  private static final Pattern FORM =
      Pattern.compile("(?:([0-9]{1,3}(?:\\.[0-9]{1,3}){3}):)?(\\d{1,5}):(\\d{1,5})");

  public static PortForward parse(String text) {
    var match = FORM.matcher(text);
    if (!match.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a port to publish; write PORT:GUESTPORT, such as 2222:22");
    }
    var address = match.group(1) == null ? "127.0.0.1" : match.group(1);
    return new PortForward(address, port(match.group(2)), port(match.group(3)));
  }

  private static int port(String text) {
    var port = Integer.parseInt(text);
    if (port < 1 || port > 65535) {
      throw new IllegalArgumentException(port + " is not a TCP port; ports are 1 to 65535");
    }
    return port;
  }

  @Override
  public String toString() {
    return address + ":" + port + ":" + guestPort;
  }
}
