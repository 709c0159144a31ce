package dev.platter.registry;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * User names and passwords by registry, from files of this user, from Secrets, or from both.
 *
 * <p>Whoever asks gets what is there now: logins come and go while a daemon runs.
 */
public final class Credentials {
  private final List<Source> sources;

  /** Something that may know a login. Its name as a text is no secret. */
  interface Source {
    Optional<Login> find(Reference image) throws IOException;
  }

  /**
   * One account. Never printed. By Docker's convention the user {@code <token>} has no password but
   * an identity token, which is for the token server only.
   */
  record Login(String user, String password) {
    static final String IDENTITY = "<token>";

    boolean isIdentityToken() {
      return user.equals(IDENTITY);
    }

    String basic() {
      String pair = user + ":" + password;
      return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String toString() {
      return "Login[hidden]";
    }
  }

  private Credentials(List<Source> sources) {
    this.sources = List.copyOf(sources);
  }

  public static Credentials none() {
    return new Credentials(List.of());
  }

  /**
   * The content of a {@code config.json}, as a Secret of type {@code dockerconfigjson} has it. It
   * comes from elsewhere, so it cannot make us run anything: its helpers are ignored.
   */
  public static Credentials parse(byte[] json) throws IOException {
    return new Credentials(
        List.of(LoginDocument.parse(json, "the registry credentials").withoutHelpers()));
  }

  /**
   * What {@code docker login}, {@code podman login} and {@code skopeo login} have stored for this
   * user, or will have.
   */
  public static Credentials fromEnvironment(Map<String, String> environment) {
    return new Credentials(List.of(LoginFiles.of(environment)));
  }

  /** These, and {@code other} for what they do not know. */
  Credentials orElse(Credentials other) {
    return new Credentials(Stream.concat(sources.stream(), other.sources.stream()).toList());
  }

  Optional<Login> find(Reference image) throws IOException {
    for (Source source : sources) {
      Optional<Login> found = source.find(image);
      if (found.isPresent()) {
        return found;
      }
    }
    return Optional.empty();
  }

  @Override
  public String toString() {
    return "Credentials for " + sources;
  }
}
