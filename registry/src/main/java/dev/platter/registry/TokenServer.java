package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAUTHORIZED;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.registry.Credentials.Login;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Where a registry says that tokens are sold.
 *
 * @param registry who leads there: as with redirects, to nowhere nearer to this machine
 * @param realm checked: never plain HTTP where the registry has HTTPS
 * @param service how the registry calls itself there; may be empty
 */
record TokenServer(URI registry, URI realm, String service) {
  private static final int MAX_ANSWER = 1 << 20;
  private static final Pattern TOKEN = Pattern.compile("[\\x21-\\x7e]{1,65536}");
  private static final JsonMapper MAPPER = new JsonMapper();

  /** What a server that does not say means. */
  private static final long USUAL_SECONDS = 60;

  private static final long MAX_SECONDS = Duration.ofDays(1).toSeconds();

  /** Never printed. */
  record Token(String value, Duration life) {
    @Override
    public String toString() {
      return "Token[hidden]";
    }
  }

  static TokenServer of(URI registry, Challenge challenge) throws RegistryException {
    return new TokenServer(
        registry,
        Transport.next(registry, challenge.parameter("realm")),
        challenge.parameter("service"));
  }

  /** For {@code image}'s messages; {@code scopes} are all that the token is good for. */
  Token buy(Transport transport, Optional<Login> login, List<String> scopes, Reference image)
      throws IOException {
    boolean identity = login.isPresent() && login.get().isIdentityToken();
    HttpResponse<InputStream> response =
        identity
            ? transport.send(registry, refresh(login.get().password(), scopes), null)
            : transport.send(
                registry,
                Call.get(query(scopes), "application/json"),
                login.map(Login::basic).orElse(null));
    String who = Transport.show(realm);
    try (InputStream body = response.body()) {
      int status = response.statusCode();
      if (status == 401 || status == 403 || (identity && status == 400)) {
        throw new RegistryException(
            UNAUTHORIZED,
            "%s refused the %s for %s (status %d); log in again with 'docker login %s'"
                .formatted(
                    who,
                    login.isPresent() ? "stored credentials" : "anonymous access",
                    image,
                    status,
                    image.host()));
      }
      if (status != 200) {
        throw new RegistryException(
            PROTOCOL, "%s answered %d instead of a token for %s".formatted(who, status, image));
      }
      return read(body.readNBytes(MAX_ANSWER), who);
    }
  }

  private URI query(List<String> scopes) {
    String query =
        scopes.stream().map(scope -> "scope=" + encode(scope)).collect(Collectors.joining("&"));
    if (!service.isEmpty()) {
      query = "service=" + encode(service) + "&" + query;
    }
    String separator = realm.getRawQuery() == null ? "?" : "&";
    String base = realm.toString().replaceFirst("#.*$", "");
    return URI.create(base + separator + query);
  }

  /** OAuth 2: an identity token is a refresh token, and goes into the body, not into a URL. */
  private Call refresh(String identityToken, List<String> scopes) {
    String text =
        "grant_type=refresh_token&client_id=platter&service=%s&scope=%s&refresh_token=%s"
            .formatted(encode(service), encode(String.join(" ", scopes)), encode(identityToken));
    byte[] form = text.getBytes(StandardCharsets.US_ASCII);
    return Call.of("POST", realm)
        .with("Accept", "application/json")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .with(new Call.Body(form.length, () -> new ByteArrayInputStream(form)));
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static Token read(byte[] answer, String who) throws RegistryException {
    JsonNode json;
    try {
      json = MAPPER.readTree(answer);
    } catch (IOException e) {
      // Without the cause: it may quote a token.
      throw new RegistryException(PROTOCOL, who + " answered with invalid JSON");
    }
    String token = json.path("token").asText(json.path("access_token").asText());
    if (!TOKEN.matcher(token).matches()) {
      throw new RegistryException(PROTOCOL, who + " answered without a token");
    }
    long seconds = json.path("expires_in").asLong(USUAL_SECONDS);
    return new Token(token, Duration.ofSeconds(Math.clamp(seconds, 1, MAX_SECONDS)));
  }
}
