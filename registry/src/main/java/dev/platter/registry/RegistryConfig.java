package dev.platter.registry;

import java.util.List;

/**
 * What is special about the images below one prefix; the words are those of {@code
 * registries.conf}.
 *
 * @param prefix {@code host[:port][/path]}: the images this is for; or {@code *.host} for those of
 *     all hosts below that one, at any port
 * @param location what stands in place of the prefix when a registry is asked; for a prefix with a
 *     star it may be empty, and images stay where they are
 * @param insecure unverified TLS, or else plain HTTP, is good enough
 * @param blocked nothing below the prefix may be pulled or pushed
 * @param mirrors asked in this order, each before the location itself
 */
public record RegistryConfig(
    String prefix, String location, boolean insecure, boolean blocked, List<Mirror> mirrors) {
  private static final String ANY = "*.";

  /** Which references a mirror is for: a tag may mean another image there. */
  public enum Pull {
    ALL,
    DIGEST_ONLY,
    TAG_ONLY;

    boolean isFor(Reference image) {
      return switch (this) {
        case ALL -> true;
        case DIGEST_ONLY -> image.digest() != null;
        case TAG_ONLY -> image.digest() == null;
      };
    }
  }

  /** Another place with the same content. Never pushed to. */
  public record Mirror(String location, boolean insecure, Pull pull) {
    public Mirror {
      requireLocation(location);
    }

    public Mirror(String location, boolean insecure) {
      this(location, insecure, Pull.ALL);
    }
  }

  public RegistryConfig {
    if (prefix.startsWith(ANY)) {
      requireLocation("any" + prefix.substring(ANY.length() - 1));
      if (prefix.indexOf('/') >= 0 || prefix.indexOf(':') >= 0) {
        throw new IllegalArgumentException("'" + prefix + "' has more than *. and a host");
      }
    } else {
      requireLocation(prefix);
    }
    if (!location.isEmpty() || !prefix.startsWith(ANY)) {
      requireLocation(location);
    }
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
    if (prefix.startsWith(ANY)) {
      return isBelow(image.host());
    }
    String name = image.host() + "/" + image.repository();
    return name.startsWith(prefix + "/") || name.equals(prefix);
  }

  /** Whether {@code host[:port]} is one that the star stands for. */
  private boolean isBelow(String authority) {
    return withoutPort(authority).endsWith(prefix.substring(ANY.length() - 1));
  }

  private static String withoutPort(String authority) {
    return authority.replaceFirst(":[0-9]+$", "");
  }

  /** Whether requests for these images go to {@code host[:port]}, mirrors aside. */
  boolean leadsTo(String authority) {
    return location.isEmpty() ? isBelow(authority) : hostOf(location).equals(authority);
  }

  boolean leadsAnywhere() {
    return location.isEmpty();
  }

  /** Whether a mirror at {@code host[:port]} may do without TLS that is verified. */
  boolean hasInsecureMirror(String authority) {
    return mirrors.stream()
        .anyMatch(mirror -> mirror.insecure() && hostOf(mirror.location()).equals(authority));
  }

  private static String hostOf(String location) {
    int slash = location.indexOf('/');
    return slash < 0 ? location : location.substring(0, slash);
  }

  /**
   * The repository of {@code image} as it is called at {@code place}, which stands in place of the
   * prefix; where that has a star, in place of the host with its port.
   */
  Reference at(String place, Reference image) {
    if (place.isEmpty()) {
      return image;
    }
    String name = image.host() + "/" + image.repository();
    String replaced = prefix.startsWith(ANY) ? image.host() : prefix;
    Reference moved = Reference.parse(place + name.substring(replaced.length()));
    return new Reference(moved.host(), moved.repository(), image.tag(), image.digest());
  }
}
