package dev.platter.registry;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.net.spi.InetAddressResolver;
import java.net.spi.InetAddressResolver.LookupPolicy;
import java.net.spi.InetAddressResolverProvider;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The addresses of names that were checked, for as long as it takes to connect: a name that means
 * another address a moment later (DNS rebinding) still leads to the one that was checked. All
 * look-ups of the JVM come by here; those of other names go on to the machine's own resolver.
 */
public final class CheckedAddresses extends InetAddressResolverProvider {
  private static final Duration KEPT = Duration.ofMinutes(1);
  private static final Map<String, Kept> NAMES = new ConcurrentHashMap<>();

  private record Kept(List<InetAddress> addresses, long since) {
    boolean isOld() {
      return System.nanoTime() - since > KEPT.toNanos();
    }
  }

  static void keep(String host, InetAddress... addresses) {
    NAMES.values().removeIf(Kept::isOld);
    NAMES.put(host, new Kept(List.of(addresses), System.nanoTime()));
  }

  @Override
  public InetAddressResolver get(Configuration configuration) {
    InetAddressResolver machine = configuration.builtinResolver();
    return new InetAddressResolver() {
      @Override
      public Stream<InetAddress> lookupByName(String host, LookupPolicy policy)
          throws UnknownHostException {
        Kept kept = NAMES.get(host);
        return kept == null || kept.isOld()
            ? machine.lookupByName(host, policy)
            : kept.addresses().stream();
      }

      @Override
      public String lookupByAddress(byte[] address) throws UnknownHostException {
        return machine.lookupByAddress(address);
      }
    };
  }

  @Override
  public String name() {
    return "platter";
  }
}
