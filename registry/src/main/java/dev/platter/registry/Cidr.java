package dev.platter.registry;

import java.net.InetAddress;
import java.util.Arrays;

/** A network: all addresses that share their first bits. */
record Cidr(InetAddress network, int bits) {

  /** Throws {@link IllegalArgumentException} with a message for the user. */
  static Cidr parse(String text) {
    int slash = text.indexOf('/');
    // The JDK would also take 10.1/16, and not mean what its writer meant.
    if (text.matches("([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)/[0-9]{1,3}")) {
      try {
        InetAddress network = InetAddress.ofLiteral(text.substring(0, slash));
        int bits = Integer.parseInt(text.substring(slash + 1));
        if (bits <= network.getAddress().length * 8) {
          return new Cidr(network, bits);
        }
      } catch (IllegalArgumentException e) {
        // Said below, in our words.
      }
    }
    throw new IllegalArgumentException(
        "'" + text + "' is no network; write it like 10.1.0.0/16 or fd00:1::/32");
  }

  boolean contains(InetAddress address) {
    byte[] ours = network.getAddress();
    byte[] theirs = address.getAddress();
    if (ours.length != theirs.length) {
      return false;
    }
    int whole = bits / 8;
    int rest = bits % 8;
    return Arrays.equals(ours, 0, whole, theirs, 0, whole)
        && (rest == 0 || ((ours[whole] ^ theirs[whole]) & 0xff) >> (8 - rest) == 0);
  }
}
