package dev.platter.registry;

import java.util.List;

/**
 * What is special about the images below one prefix; the words are those of {@code
 * registries.conf}.
 *
 * @param prefix {@code host[:port][/path]}: the images this is for
 * @param location what stands in place of the prefix when a registry is asked
 * @param insecure unverified TLS, or else plain HTTP, is good enough
 * @param blocked nothing below the prefix may be pulled or pushed
 * @param mirrors asked in this order, each before the location itself
 */
public record RegistryConfig(
    String prefix, String location, boolean insecure, boolean blocked, List<Mirror> mirrors) {

  /** Another place with the same content. Never pushed to. */
  public record Mirror(String location, boolean insecure) {
    public Mirror {
      requireLocation(location);
    }
  }

  public RegistryConfig {
    requireLocation(prefix);
    requireLocation(location);
    mirrors = List.copyOf(mirrors);
  }

  /** For a registry that is only insecure. */
  public static RegistryConfig insecure(String host) {
    return new RegistryConfig(host, host, true, false, List.of());
  }

  private static void requireLocation(String location) {
    Reference.parse(location + "/x");
    if (!location.matches("[^/]*[.:][^/]*(/.*)?|localhost(/.*)?")) {
      throw new IllegalArgumentException("'" + location + "' does not begin with a host");
    }
  }

  boolean matches(Reference image) {
    String name = image.host() + "/" + image.repository();
    return name.startsWith(prefix + "/") || name.equals(prefix);
  }

  /** The repository of {@code image} as it is called at {@code place}. */
  Reference at(String place, Reference image) {
    String name = image.host() + "/" + image.repository();
    Reference moved = Reference.parse(place + name.substring(prefix.length()));
    return new Reference(moved.host(), moved.repository(), image.tag(), image.digest());
  }
}
