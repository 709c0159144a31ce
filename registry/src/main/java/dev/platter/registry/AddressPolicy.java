package dev.platter.registry;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/**
 * Which addresses may be connected to. A URL that a tenant gave, or that a tenant's registry
 * answers with, must not make us the door to the operator's own network.
 *
 * <p>Every request is checked, redirects and token servers too: the name is looked up, and the
 * request is refused when <em>any</em> of its addresses is forbidden. The HTTP client then looks
 * the name up again, because it cannot be given an address without losing the name for TLS; the JVM
 * answers that second look-up from its cache. A name whose cache entry expires (30 s, {@code
 * networkaddress.cache.ttl}) in the instant between the two could still change: with a TTL of 0
 * that race is wide open, so do not set it. No proxy is used under a policy, since a proxy would do
 * the look-up.
 */
public final class AddressPolicy {
  /** Not the internet, or nobody's registry. 168.63.129.16 is where Azure serves its machines. */
  private static final List<Cidr> SPECIAL =
      cidrs(
          List.of(
              "0.0.0.0/8",
              "10.0.0.0/8",
              "100.64.0.0/10",
              "127.0.0.0/8",
              "168.63.129.16/32",
              "169.254.0.0/16",
              "172.16.0.0/12",
              "192.0.0.0/24",
              "192.0.2.0/24",
              "192.88.99.0/24",
              "192.168.0.0/16",
              "198.18.0.0/15",
              "198.51.100.0/24",
              "203.0.113.0/24",
              "224.0.0.0/3",
              "::/96",
              "64:ff9b:1::/48",
              "100::/64",
              "2001::/23",
              "2001:db8::/32",
              "fc00::/7",
              "fe80::/9",
              "ff00::/8"));

  /**
   * What leads back to the machine that connects, or to those who run it: loopback, link-local, the
   * metadata services of clouds, and what is no server's address.
   */
  private static final List<Cidr> OWN =
      cidrs(
          List.of(
              "0.0.0.0/8",
              "100.100.100.200/32",
              "127.0.0.0/8",
              "168.63.129.16/32",
              "169.254.0.0/16",
              "192.0.0.0/24",
              "224.0.0.0/3",
              "::/96",
              "fd00:ec2::/32",
              "fe80::/9",
              "ff00::/8"));

  /** IPv6 addresses that lead to the IPv4 address inside them, and where that begins. */
  private static final Cidr NAT64 = Cidr.parse("64:ff9b::/96");

  private static final Cidr SIX_TO_FOUR = Cidr.parse("2002::/16");

  private final List<Cidr> refused;
  private final List<Cidr> allowed;

  /**
   * @param refused none means that everything is allowed
   */
  private AddressPolicy(List<Cidr> refused, List<Cidr> allowed) {
    this.refused = refused;
    this.allowed = allowed;
  }

  /** No restriction: for names that the operator wrote. */
  public static AddressPolicy any() {
    return new AddressPolicy(List.of(), List.of());
  }

  /**
   * Only the internet, and what is {@code allowed} besides: private, loopback, link-local,
   * multicast, metadata and reserved addresses are refused.
   *
   * @param allowed networks such as {@code 10.1.0.0/16} or {@code fd00:1::/32}
   */
  public static AddressPolicy internetAnd(List<String> allowed) {
    return new AddressPolicy(SPECIAL, cidrs(allowed));
  }

  /**
   * Any other machine, wherever it is: for servers of disks, whose networks nobody lists. What this
   * machine has on its own addresses beside loopback, others can reach too.
   */
  public static AddressPolicy otherMachines() {
    return new AddressPolicy(OWN, List.of());
  }

  private static List<Cidr> cidrs(List<String> texts) {
    return texts.stream().map(Cidr::parse).toList();
  }

  boolean isAny() {
    return refused.isEmpty();
  }

  boolean permits(InetAddress address) {
    if (isAny() || allowed.stream().anyMatch(cidr -> cidr.contains(address))) {
      return true;
    }
    byte[] bytes = address.getAddress();
    if (NAT64.contains(address)) {
      return permits(embedded(bytes, 12));
    }
    if (SIX_TO_FOUR.contains(address)) {
      return permits(embedded(bytes, 2));
    }
    return refused.stream().noneMatch(cidr -> cidr.contains(address));
  }

  private static InetAddress embedded(byte[] bytes, int start) {
    try {
      return InetAddress.getByAddress(
          new byte[] {bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3]});
    } catch (UnknownHostException e) {
      throw new AssertionError("four bytes are an address", e);
    }
  }

  /** Looks {@code host} up; does nothing where everything is allowed. */
  public void require(String host) throws RegistryException, UnknownHostException {
    if (!isAny()) {
      require(host, InetAddress.getAllByName(host));
    }
  }

  /** The same for a name that somebody has looked up. */
  public void require(String host, InetAddress... addresses) throws RegistryException {
    for (InetAddress address : addresses) {
      if (!permits(address)) {
        throw new RegistryException(
            RegistryException.Kind.PROTOCOL,
            "refused to go to %s: its address %s ".formatted(host, address.getHostAddress())
                + (refused.equals(OWN)
                    ? "is this machine itself, or a service for it alone"
                    : "is not on the internet and not in the networks that the operator allows"));
      }
    }
  }
}
