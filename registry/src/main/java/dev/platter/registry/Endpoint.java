package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.NOT_FOUND;
import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAUTHORIZED;

import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One repository at one registry: its URLs, and requests to them with our credentials.
 *
 * <p>A registry on this machine is spoken to over plain HTTP unless it has certificates in {@code
 * certs.d}; one that the operator calls insecure is asked whether it has TLS, and asked again when
 * it has failed, since it may have been another server that answered; all others get HTTPS only.
 */
final class Endpoint {
  private static final JsonMapper MAPPER = new JsonMapper();

  private final Reference image;
  private final RegistrySettings settings;
  private final Transport transport;
  private final Authorization authorization;
  private @Nullable URI repository;

  Endpoint(
      Reference image,
      Credentials credentials,
      List<String> scopes,
      RegistrySettings settings,
      Transport transport,
      LongSupplier nanos) {
    this.image = image;
    this.settings = settings;
    this.transport = transport;
    this.authorization = new Authorization(image, credentials, scopes, transport, nanos);
  }

  Reference image() {
    return image;
  }

  Transport transport() {
    return transport;
  }

  boolean loggedIn() {
    return authorization.loggedIn();
  }

  /** What every registry answers. */
  private URI base() throws IOException {
    return uri("").resolve("/v2/");
  }

  /** {@code path} is relative to {@code /v2/<repository>/}. */
  synchronized URI uri(String path) throws IOException {
    if (repository == null) {
      String host = host();
      repository = URI.create(scheme(host) + "://" + host + "/v2/" + image.repository() + "/");
    }
    return repository.resolve(path);
  }

  private String host() {
    return image.host().equals("docker.io") ? "registry-1.docker.io" : image.host();
  }

  private synchronized void mayHaveChanged() {
    if (settings.isInsecure(host())) {
      repository = null;
    }
  }

  private String scheme(String host) throws IOException {
    if (settings.isInsecure(host)) {
      return transport.speaksTls(URI.create("https://" + host + "/v2/")) ? "https" : "http";
    }
    return image.isLoopback() && settings.certificatesOf(host).isEmpty() ? "http" : "https";
  }

  /**
   * Sends with our credentials if it goes to this registry, and once more with new ones if it does
   * not take them; with yet others if those do not suffice and there are any by now. Any status
   * that is left then.
   */
  HttpResponse<InputStream> send(Call call) throws IOException {
    try {
      HttpResponse<InputStream> response = sendWithLogin(call);
      if (response.statusCode() == 400) { // Also said by TLS to who has none.
        mayHaveChanged();
      }
      return response;
    } catch (IOException e) {
      mayHaveChanged();
      throw e;
    }
  }

  private HttpResponse<InputStream> sendWithLogin(Call call) throws IOException {
    if (!Transport.sameOrigin(uri(""), call.uri())) {
      return transport.send(call, null);
    }
    @Nullable String header = authorization.header();
    HttpResponse<InputStream> response = transport.send(call, header);
    if (response.statusCode() == 401 && Transport.sameOrigin(call.uri(), response.uri())) {
      List<Challenge> challenges =
          Challenge.parse(response.headers().allValues("WWW-Authenticate"));
      response.body().close();
      if (!authorization.answer(call.uri(), challenges, header)) {
        throw refused(call.method() + " " + Transport.show(call.uri()), 401, "");
      }
      header = authorization.header();
      response = transport.send(call, header);
    }
    if (isRefused(call, response) && hasOtherLogin(response, header)) {
      response.body().close();
      response = transport.send(call, authorization.header());
    }
    return response;
  }

  /** Some say 403 of a login that was good an hour ago. */
  private static boolean isRefused(Call call, HttpResponse<InputStream> response) {
    return (response.statusCode() == 401 || response.statusCode() == 403)
        && Transport.sameOrigin(call.uri(), response.uri());
  }

  private boolean hasOtherLogin(HttpResponse<InputStream> refusal, @Nullable String shown)
      throws IOException {
    try {
      return authorization.replace(shown);
    } catch (IOException e) {
      refusal.body().close(); // It has a place among the connections.
      throw e;
    }
  }

  /** Opens one more connection. */
  void connect() throws IOException {
    if (!transport.prepare(base())) {
      send(Call.get(base(), "*/*")).body().close();
    }
  }

  boolean hasBlob(Descriptor blob) throws IOException {
    HttpResponse<InputStream> response = send(Call.of("HEAD", uri("blobs/" + blob.digest())));
    if (response.statusCode() == 404) {
      response.body().close();
      return false;
    }
    if (response.statusCode() != 200) {
      throw failure(response, "blob " + blob.digest());
    }
    response.body().close();
    long size = response.headers().firstValueAsLong("Content-Length").orElse(blob.size());
    if (size != blob.size()) {
      throw new RegistryException(
          PROTOCOL,
          "%s has %s with %d bytes, but it should have %d"
              .formatted(image.host(), blob.digest(), size, blob.size()));
    }
    return true;
  }

  /** What was stored must be what was sent, if the registry says what it stored. */
  void requireDigest(HttpResponse<?> response, Digest sent) throws RegistryException {
    String said = response.headers().firstValue("Docker-Content-Digest").orElse("");
    if (said.startsWith("sha256:") && !said.equals(sent.toString())) {
      throw new RegistryException(
          PROTOCOL,
          "%s was sent %s and says that it stored something else".formatted(image.host(), sent));
    }
  }

  /** Says in a user's words why {@code response} is not what was hoped for; closes it. */
  RegistryException failure(HttpResponse<InputStream> response, String what) throws IOException {
    String code;
    try (InputStream body = response.body()) {
      code = errorCode(body);
    }
    return switch (response.statusCode()) {
      case 401, 403 -> refused(what, response.statusCode(), code);
      case 404 ->
          new RegistryException(
              NOT_FOUND,
              "%s has no %s%s; check the name and the tag".formatted(image.host(), what, code));
      default ->
          new RegistryException(
              PROTOCOL,
              "%s answered %d%s to the request for %s"
                  .formatted(Transport.show(response.uri()), response.statusCode(), code, what));
    };
  }

  private RegistryException refused(String what, int status, String code) throws IOException {
    String advice =
        authorization.hasLogin()
            ? "the stored credentials do not suffice: log in again with 'docker login %s', or check"
                + " the name, for some registries answer so when there is no such image"
            : "there are no credentials for it: log in with 'docker login %s', or check the name,"
                + " for some registries answer so when there is no such image";
    return new RegistryException(
        UNAUTHORIZED,
        "%s refused the %s (%d%s); %s"
            .formatted(image.host(), what, status, code, advice.formatted(image.host())));
  }

  /** The registry's word for the error. Its sentence is not shown: it could echo what we sent. */
  private static String errorCode(InputStream body) {
    try {
      String code =
          MAPPER.readTree(body.readNBytes(64 << 10)).path("errors").path(0).path("code").asText();
      return code.matches("[A-Z_]{1,40}") ? " " + code : "";
    } catch (IOException e) {
      return "";
    }
  }
}
