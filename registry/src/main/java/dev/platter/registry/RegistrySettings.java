package dev.platter.registry;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How registries are spoken to.
 *
 * @param registries what is special about some of them; the longest prefix counts
 * @param certificates directories laid out as Docker's and podman's {@code certs.d}: {@code
 *     HOST[:PORT]/*.crt} are CAs trusted besides the system's, {@code *.cert} with {@code *.key} a
 *     client certificate; so are the CAs in a file {@code HOST[_PORT].crt} beside these; the first
 *     directory that knows a host counts
 * @param addresses where connections may lead
 * @param connections how many requests may be under way to one host
 * @param proxies that stand before the others; where addresses are restricted they are not used
 */
public record RegistrySettings(
    List<RegistryConfig> registries,
    List<Path> certificates,
    AddressPolicy addresses,
    int connections,
    Proxies proxies) {

  private static final int CONNECTIONS = 16;

  /** Networks, with commas between them, that images may come from beside the internet. */
  public static final String NETWORKS = "PLATTER_IMAGE_NETWORKS";

  /** A directory with certificates that counts before the usual ones. */
  private static final String CERTIFICATES = "PLATTER_CERTIFICATES";

  public RegistrySettings {
    registries = List.copyOf(registries);
    certificates = List.copyOf(certificates);
    if (connections < 1) {
      throw new IllegalArgumentException("at least one connection");
    }
  }

  public RegistrySettings(
      List<RegistryConfig> registries,
      List<Path> certificates,
      AddressPolicy addresses,
      int connections) {
    this(registries, certificates, addresses, connections, Proxies.NONE);
  }

  /** Nothing special; any address. */
  public static RegistrySettings defaults() {
    return new RegistrySettings(List.of(), List.of(), AddressPolicy.any(), CONNECTIONS);
  }

  /**
   * What podman, skopeo and Docker would use for this user; any address, unless the environment
   * says which networks are allowed.
   */
  public static RegistrySettings fromEnvironment(Map<String, String> environment)
      throws IOException {
    List<Path> users = userDirectories(environment);
    Path system = Path.of("/etc/containers");
    List<Path> certificates = new ArrayList<>();
    @Nullable String own = environment.get(CERTIFICATES);
    if (own != null && !own.isEmpty()) {
      certificates.add(Path.of(own));
    }
    users.forEach(user -> certificates.add(user.resolve("certs.d")));
    certificates.add(system.resolve("certs.d"));
    certificates.add(Path.of("/etc/docker/certs.d"));
    Map<String, RegistryConfig> byPrefix = new LinkedHashMap<>();
    for (Path file : RegistriesConfFiles.of(environment, users, system)) {
      parse(file).forEach(config -> byPrefix.put(config.prefix(), config));
    }
    return new RegistrySettings(
        List.copyOf(byPrefix.values()),
        certificates,
        policy(environment.get(NETWORKS)),
        CONNECTIONS,
        Proxies.fromEnvironment(environment));
  }

  /** Podman looks into {@code ~/.config} alone, also when the user's settings are elsewhere. */
  private static List<Path> userDirectories(Map<String, String> environment) {
    List<Path> users = new ArrayList<>();
    String config = environment.getOrDefault("XDG_CONFIG_HOME", "");
    if (!config.isEmpty()) {
      users.add(Path.of(config, "containers"));
    }
    String home = environment.getOrDefault("HOME", "");
    if (!home.isEmpty() && !users.contains(Path.of(home, ".config/containers"))) {
      users.add(Path.of(home, ".config/containers"));
    }
    return users;
  }

  /** Set where those who name images are not those who run the machine. */
  private static AddressPolicy policy(@Nullable String networks) {
    return networks == null
        ? AddressPolicy.any()
        : AddressPolicy.internetAnd(
            Stream.of(networks.split(",")).map(String::strip).filter(n -> !n.isEmpty()).toList());
  }

  /** The registries in a {@code registries.conf}; see there what of it is understood. */
  static List<RegistryConfig> parse(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(RegistriesConf.MAX_BYTES);
      return RegistriesConf.parse(new String(bytes, StandardCharsets.UTF_8), file.toString());
    }
  }

  /** The same with another policy, for references that come from tenants. */
  public RegistrySettings restrictedTo(AddressPolicy policy) {
    return new RegistrySettings(registries, certificates, policy, connections, proxies);
  }

  /** The same for whom no answer may lead nearer to this machine than who was asked. */
  public RegistrySettings leadingNoNearer() {
    return restrictedTo(addresses.leadingNoNearer());
  }

  /**
   * Whether anything the operator wrote allows plain HTTP or unverified TLS to this host. Of stars
   * the longest counts, and none for a host that has a word of its own.
   */
  boolean isInsecure(String authority) {
    List<RegistryConfig> known =
        registries.stream().filter(config -> config.leadsTo(authority)).toList();
    boolean named = known.stream().anyMatch(config -> !config.leadsAnywhere());
    boolean insecure =
        named
            ? known.stream().anyMatch(config -> !config.leadsAnywhere() && config.insecure())
            : longest(known.stream()).filter(RegistryConfig::insecure).isPresent();
    return insecure || registries.stream().anyMatch(config -> config.hasInsecureMirror(authority));
  }

  /** Where {@code host[:port]} has its certificates, if it has its own. */
  Optional<HostFiles> certificatesOf(String authority) {
    return certificates.stream()
        .map(directory -> HostFiles.in(directory, authority))
        .filter(HostFiles::exist)
        .findFirst();
  }

  /** The places to ask for {@code image}: mirrors first, where it belongs last. */
  List<Reference> places(Reference image) throws RegistryException {
    Optional<RegistryConfig> found = find(image);
    if (found.isEmpty()) {
      return List.of(image);
    }
    RegistryConfig config = found.get();
    if (config.blocked()) {
      throw new RegistryException(
          RegistryException.Kind.PROTOCOL,
          "registries.conf blocks " + config.prefix() + ", and so " + image);
    }
    List<Reference> places = new ArrayList<>();
    for (RegistryConfig.Mirror mirror : config.mirrors()) {
      if (mirror.pull().isFor(image)) {
        places.add(config.at(mirror.location(), image));
      }
    }
    places.add(config.at(config.location(), image));
    return places;
  }

  private Optional<RegistryConfig> find(Reference image) {
    return longest(registries.stream().filter(config -> config.matches(image)));
  }

  private static Optional<RegistryConfig> longest(Stream<RegistryConfig> configs) {
    return configs.max(
        (one, other) -> Integer.compare(one.prefix().length(), other.prefix().length()));
  }
}
