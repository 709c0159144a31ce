package dev.platter.registry;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
 */
public record RegistrySettings(
    List<RegistryConfig> registries,
    List<Path> certificates,
    AddressPolicy addresses,
    int connections) {

  private static final int CONNECTIONS = 16;

  /** Networks, with commas between them, that images may come from beside the internet. */
  private static final String NETWORKS = "PLATTER_IMAGE_NETWORKS";

  /** A directory with certificates that counts before the usual ones. */
  private static final String CERTIFICATES = "PLATTER_CERTIFICATES";

  public RegistrySettings {
    registries = List.copyOf(registries);
    certificates = List.copyOf(certificates);
    if (connections < 1) {
      throw new IllegalArgumentException("at least one connection");
    }
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
    @Nullable String home = environment.get("HOME");
    List<Path> confs = new ArrayList<>();
    List<Path> certificates = new ArrayList<>();
    @Nullable String conf = environment.get("CONTAINERS_REGISTRIES_CONF");
    if (conf != null && !conf.isEmpty()) {
      confs.add(Path.of(conf));
    }
    @Nullable String own = environment.get(CERTIFICATES);
    if (own != null && !own.isEmpty()) {
      certificates.add(Path.of(own));
    }
    if (home != null && !home.isEmpty()) {
      confs.add(Path.of(home, ".config/containers/registries.conf"));
      certificates.add(Path.of(home, ".config/containers/certs.d"));
    }
    confs.add(Path.of("/etc/containers/registries.conf"));
    certificates.add(Path.of("/etc/containers/certs.d"));
    certificates.add(Path.of("/etc/docker/certs.d"));
    AddressPolicy policy = policy(environment.get(NETWORKS));
    for (Path file : confs) {
      if (Files.isRegularFile(file)) {
        return new RegistrySettings(parse(file), certificates, policy, CONNECTIONS);
      }
    }
    return new RegistrySettings(List.of(), certificates, policy, CONNECTIONS);
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
    return new RegistrySettings(registries, certificates, policy, connections);
  }

  /** Whether anything the operator wrote allows plain HTTP or unverified TLS to this host. */
  boolean isInsecure(String authority) {
    return registries.stream()
        .anyMatch(
            config ->
                (config.insecure() && hostOf(config.location()).equals(authority))
                    || config.mirrors().stream()
                        .anyMatch(
                            mirror ->
                                mirror.insecure() && hostOf(mirror.location()).equals(authority)));
  }

  private static String hostOf(String location) {
    int slash = location.indexOf('/');
    return slash < 0 ? location : location.substring(0, slash);
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
    config.mirrors().forEach(mirror -> places.add(config.at(mirror.location(), image)));
    places.add(config.at(config.location(), image));
    return places;
  }

  private Optional<RegistryConfig> find(Reference image) {
    return registries.stream()
        .filter(config -> config.matches(image))
        .max((one, other) -> Integer.compare(one.prefix().length(), other.prefix().length()));
  }
}
