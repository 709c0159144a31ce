package dev.platter.registry;

import java.net.InetAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.stream.Stream;

/**
 * Which addresses may be connected to. A URL that a tenant gave, or that a tenant's registry
 * answers with, must not make us the door to the operator's own network.
 *
 * <p>Every request is checked, redirects and token servers too: the name is looked up, and the
 * request is refused when <em>any</em> of its addresses is forbidden. The HTTP client then looks
 * the name up again, because it cannot be given an address without losing the name for TLS; {@link
 * CheckedAddresses} answers it with what was checked. No proxy is used under a policy, since a
 * proxy would do the look-up.
 *
 * <p>What somebody wrote who owns the machine may lead anywhere. But where a server's answer leads
 * is not their word: no nearer to this machine than the server is.
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

  /** The same without loopback. */
  private static final List<Cidr> SERVICES =
      OWN.stream().filter(cidr -> !cidrs(List.of("127.0.0.0/8", "::/96")).contains(cidr)).toList();

  /** What is far leads to none of the first, what is in a network of ours to none of the second. */
  private static final List<List<Cidr>> NEARER = List.of(SPECIAL, OWN, SERVICES);

  /** IPv6 addresses that lead to the IPv4 address inside them, and where that begins. */
  private static final Cidr NAT64 = Cidr.parse("64:ff9b::/96");

  private static final Cidr SIX_TO_FOUR = Cidr.parse("2002::/16");

  private final List<Cidr> refused;
  private final List<Cidr> allowed;

  /** What redirects may not lead to: the first that the server itself is not in counts. */
  private final List<List<Cidr>> nearer;

  /**
   * @param refused none means that everything is allowed
   */
  private AddressPolicy(List<Cidr> refused, List<Cidr> allowed, List<List<Cidr>> nearer) {
    this.refused = refused;
    this.allowed = allowed;
    this.nearer = nearer;
  }

  private static AddressPolicy not(List<Cidr> refused) {
    return new AddressPolicy(refused, List.of(), List.of());
  }

  /** No restriction but on redirects: for names that the operator wrote. */
  public static AddressPolicy any() {
    return new AddressPolicy(List.of(), List.of(), NEARER);
  }

  /** The same where other addresses are near: for tests, which have no address but loopback. */
  public static AddressPolicy anyBut(List<String> near) {
    return new AddressPolicy(List.of(), List.of(), List.of(cidrs(near)));
  }

  /**
   * Only the internet, and what is {@code allowed} besides: private, loopback, link-local,
   * multicast, metadata and reserved addresses are refused. Link-local and metadata addresses are
   * so in a larger network too: who means them writes them.
   *
   * @param allowed networks such as {@code 10.1.0.0/16} or {@code fd00:1::/32}
   */
  public static AddressPolicy internetAnd(List<String> allowed) {
    return new AddressPolicy(SPECIAL, cidrs(allowed), List.of());
  }

  /** The same, and no answer leads nearer to this machine than who was asked. */
  public AddressPolicy leadingNoNearer() {
    return nearer.isEmpty() ? new AddressPolicy(refused, allowed, NEARER) : this;
  }

  /**
   * Any other machine, wherever it is: for servers of disks, whose networks nobody lists. What this
   * machine has on its own addresses beside loopback, others can reach too.
   */
  public static AddressPolicy otherMachines() {
    return not(OWN);
  }

  private static List<Cidr> cidrs(List<String> texts) {
    return texts.stream().map(Cidr::parse).toList();
  }

  public boolean isAny() {
    return refused.isEmpty();
  }

  boolean permits(InetAddress address) {
    if (isAny() || allowed.stream().anyMatch(cidr -> allows(cidr, address))) {
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

  private static boolean allows(Cidr network, InetAddress address) {
    return network.contains(address)
        && SERVICES.stream()
            .noneMatch(service -> service.contains(address) && network.bits() < service.bits());
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
      InetAddress[] found = InetAddress.getAllByName(host);
      require(host, found);
      CheckedAddresses.keep(host, found);
      // Somebody else may have had another answer cached before this one was kept.
      require(host, InetAddress.getAllByName(host));
    }
  }

  /**
   * Whether an answer of a server may lead to a host. Names that mean nothing here are left to a
   * proxy, if there is one. Else nobody knows what is near to whom: also where a connection is
   * there already, no request goes by it.
   */
  public void requireRedirect(String server, String host)
      throws RegistryException, UnknownHostException {
    if (nearer.isEmpty()) {
      return;
    }
    try {
      InetAddress[] from = InetAddress.getAllByName(server);
      for (List<Cidr> near : nearer) {
        AddressPolicy policy = not(near);
        if (Stream.of(from).allMatch(policy::permits)) {
          policy.require(host);
          return;
        }
      }
    } catch (UnknownHostException e) {
      if (!isProxied(host)) {
        throw e;
      }
    } catch (RegistryException e) {
      throw new RegistryException(
          e.kind(), "%s leads nearer to this machine: %s".formatted(server, e.getMessage()), e);
    }
  }

  private static boolean isProxied(String host) {
    ProxySelector proxies = ProxySelector.getDefault();
    return proxies != null
        && Stream.of("http", "https")
            .map(scheme -> URI.create(scheme + "://" + host + "/"))
            .flatMap(uri -> proxies.select(uri).stream())
            .anyMatch(proxy -> proxy.type() != Proxy.Type.DIRECT);
  }

  /** The same for a name that somebody has looked up. */
  public void require(String host, InetAddress... addresses) throws RegistryException {
    for (InetAddress address : addresses) {
      if (!permits(address)) {
        throw new RegistryException(
            RegistryException.Kind.PROTOCOL,
            "refused to go to %s: its address %s ".formatted(host, address.getHostAddress())
                + (refused.equals(OWN) || refused.equals(SERVICES)
                    ? "is this machine itself, or a service for it alone"
                    : "is not on the internet and not in the networks that the operator allows"));
      }
    }
  }
}
