package dev.platter.registry;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Registries with the settings and credentials of one user: make one and share it, so that limits
 * on connections hold across images. Safe for use by many threads; holds no more than idle
 * connections, which end by themselves.
 */
public final class Registries {
  private final RegistrySettings settings;
  private final Credentials credentials;
  private final Transport transport;
  private final LongSupplier nanos;
  private final Absences absences;

  public Registries(RegistrySettings settings, Credentials credentials) {
    this(settings, credentials, new Transport(settings), System::nanoTime);
  }

  /** With what podman, skopeo and Docker would use for this user. */
  public static Registries fromEnvironment(Map<String, String> environment) throws IOException {
    return new Registries(
        RegistrySettings.fromEnvironment(environment), Credentials.fromEnvironment(environment));
  }

  Registries(
      RegistrySettings settings, Credentials credentials, Transport transport, LongSupplier nanos) {
    this(settings, credentials, transport, nanos, new Absences(nanos));
  }

  private Registries(
      RegistrySettings settings,
      Credentials credentials,
      Transport transport,
      LongSupplier nanos,
      Absences absences) {
    this.settings = settings;
    this.credentials = credentials;
    this.transport = transport;
    this.nanos = nanos;
    this.absences = absences;
  }

  /**
   * The same registries for somebody who has logins of their own; ours count where those know
   * nothing. Limits on connections are shared, and what is known of mirrors.
   *
   * @param logins in the format of Docker's {@code config.json}; the first that knows a registry
   *     counts
   */
  public Registries with(List<byte[]> logins) throws IOException {
    Credentials all = credentials;
    for (byte[] document : logins.reversed()) {
      all = Credentials.parse(document).orElse(all);
    }
    return new Registries(settings, all, transport, nanos, absences);
  }

  /** For reading {@code image} and others of its repository. */
  public RegistryClient client(Reference image) {
    return new RegistryClient(image, this);
  }

  /**
   * For writing to the repository of {@code image}. Mirrors are not written to.
   *
   * @param mountFrom repositories of the same registry that may have the same blobs already
   */
  public RegistryPush push(Reference image, String... mountFrom) throws IOException {
    List<String> others = Arrays.asList(mountFrom);
    Reference place = settings.places(image).getLast();
    List<String> scopes = new ArrayList<>();
    scopes.add("repository:" + place.repository() + ":pull,push");
    for (String other : others) {
      // Goes into a URL and a scope: nothing but a plain name.
      if (!Reference.parse(place.host() + "/" + other).repository().equals(other)) {
        throw new IllegalArgumentException("'" + other + "' is not the full name of a repository");
      }
      scopes.add("repository:" + other + ":pull");
    }
    return new RegistryPush(
        new Endpoint(place, credentials, scopes, settings, transport, nanos),
        client(image),
        others);
  }

  /** Where to read {@code image}. */
  Places places(Reference image) throws RegistryException {
    List<Endpoint> endpoints = new ArrayList<>();
    for (Reference place : settings.places(image)) {
      List<String> pull = List.of("repository:" + place.repository() + ":pull");
      endpoints.add(new Endpoint(place, credentials, pull, settings, transport, nanos));
    }
    return new Places(endpoints, absences, new Absences(nanos));
  }
}
