package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAUTHORIZED;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.registry.Credentials.Login;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How to be let in to one repository: nothing, a password, or a token that a password (or nothing)
 * buys from the server that the registry names.
 *
 * <p>The token is asked for pulling this repository only, whatever scope the registry proposes.
 */
final class Authorization {
  private static final int MAX_ANSWER = 1 << 20;
  private static final Pattern TOKEN = Pattern.compile("[\\x21-\\x7e]{1,65536}");
  private static final JsonMapper MAPPER = new JsonMapper();

  private final Reference image;
  private final Optional<Login> login;
  private final Transport transport;
  private volatile @Nullable String header;

  Authorization(Reference image, Credentials credentials, Transport transport) {
    this.image = image;
    this.login = credentials.find(image);
    this.transport = transport;
  }

  /** What worked last time. */
  @Nullable String header() {
    return header;
  }

  boolean hasLogin() {
    return login.isPresent();
  }

  /** Makes a new {@link #header} as the registry at {@code from} wants it; false if we cannot. */
  boolean answer(URI from, List<Challenge> challenges) throws IOException {
    for (Challenge challenge : challenges) {
      if (challenge.scheme().equals("bearer")) {
        header = "Bearer " + token(from, challenge);
        return true;
      }
    }
    boolean basic = challenges.stream().anyMatch(challenge -> challenge.scheme().equals("basic"));
    if (!basic || login.isEmpty()) {
      return false;
    }
    String made = login.get().basic();
    boolean isNew = !made.equals(header);
    header = made;
    return isNew;
  }

  private String token(URI from, Challenge challenge) throws IOException {
    URI uri = tokenUri(from, challenge);
    String basic = login.map(Login::basic).orElse(null);
    HttpResponse<InputStream> response = transport.get(uri, "application/json", basic);
    try (InputStream body = response.body()) {
      int status = response.statusCode();
      if (status == 401 || status == 403) {
        throw new RegistryException(
            UNAUTHORIZED,
            "%s refused the %s for %s (status %d); log in again with 'docker login %s'"
                .formatted(
                    Transport.show(uri),
                    login.isPresent() ? "stored credentials" : "anonymous access",
                    image,
                    status,
                    image.host()));
      }
      if (status != 200) {
        throw new RegistryException(
            PROTOCOL,
            "%s answered %d instead of a token for %s"
                .formatted(Transport.show(uri), status, image));
      }
      return tokenIn(body.readNBytes(MAX_ANSWER), uri);
    }
  }

  private URI tokenUri(URI from, Challenge challenge) throws RegistryException {
    URI realm = Transport.next(from, challenge.parameter("realm"));
    String query = "scope=" + encode("repository:" + image.repository() + ":pull");
    if (!challenge.parameter("service").isEmpty()) {
      query = "service=" + encode(challenge.parameter("service")) + "&" + query;
    }
    String separator = realm.getRawQuery() == null ? "?" : "&";
    String base = realm.toString().replaceFirst("#.*$", "");
    return URI.create(base + separator + query);
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static String tokenIn(byte[] answer, URI uri) throws RegistryException {
    JsonNode json;
    try {
      json = MAPPER.readTree(answer);
    } catch (IOException e) {
      // Without the cause: it may quote a token.
      throw new RegistryException(PROTOCOL, Transport.show(uri) + " answered with invalid JSON");
    }
    String token = json.path("token").asText(json.path("access_token").asText());
    if (!TOKEN.matcher(token).matches()) {
      throw new RegistryException(PROTOCOL, Transport.show(uri) + " answered without a token");
    }
    return token;
  }
}
