package dev.platter.registry;

import dev.platter.registry.Credentials.Login;
import dev.platter.registry.TokenServer.Token;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How to be let in to one repository: nothing, a password, or a token that a password (or nothing)
 * buys from the server that the registry names.
 *
 * <p>A token is asked for what we are going to do and no more, whatever scope the registry
 * proposes. It is bought again shortly before it expires, or when the registry does not take it any
 * more; threads that are refused together buy one together. Credentials are not looked for, and no
 * helper is run, before a registry asks.
 *
 * <p>What was found is used until it is refused: many logins are good for an hour, and a guest may
 * read for days. Then it is looked for once more, and counts if it is something else. That is not
 * done all the time, since whoever is refused for good will come again, and helpers are slow.
 */
final class Authorization {
  private static final Duration MARGIN = Duration.ofSeconds(10);
  private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(10);

  private final Reference image;
  private final Credentials credentials;
  private final List<String> scopes;
  private final Transport transport;
  private final LongSupplier nanos;
  private Optional<Login> login = Optional.empty();
  private boolean looked;
  private long lookedAt;
  private @Nullable TokenServer server;
  private @Nullable String header;
  private long expiry;

  /**
   * @param scopes such as {@code repository:vm:pull}
   * @param nanos as {@link System#nanoTime()}
   */
  Authorization(
      Reference image,
      Credentials credentials,
      List<String> scopes,
      Transport transport,
      LongSupplier nanos) {
    this.image = image;
    this.credentials = credentials;
    this.scopes = List.copyOf(scopes);
    this.transport = transport;
    this.nanos = nanos;
  }

  /** What works now, as far as we know. */
  synchronized @Nullable String header() throws IOException {
    if (server != null && nanos.getAsLong() - expiry >= 0) {
      buy(server);
    }
    return header;
  }

  synchronized boolean hasLogin() throws IOException {
    return login().isPresent();
  }

  /** Whether the registry was shown a login, or a token that one has bought. */
  synchronized boolean loggedIn() {
    return header != null && login.isPresent();
  }

  private Optional<Login> login() throws IOException {
    if (!looked) {
      login = credentials.find(image);
      looked = true;
      lookedAt = nanos.getAsLong();
    }
    return login;
  }

  /** Whether the login is another one by now. A look that fails counts as one, too. */
  private boolean lookAgain() throws IOException {
    if (!looked || nanos.getAsLong() - lookedAt < BETWEEN_LOOKS.toNanos()) {
      return false;
    }
    lookedAt = nanos.getAsLong();
    Optional<Login> found = credentials.find(image);
    boolean isNew = !found.equals(login);
    login = found;
    return isNew;
  }

  /**
   * Makes a new {@link #header} as the registry at {@code from} wants it.
   *
   * @param refused what it did not take
   * @return false if we have nothing better
   */
  synchronized boolean answer(URI from, List<Challenge> challenges, @Nullable String refused)
      throws IOException {
    if (!Objects.equals(header, refused)) {
      return true; // somebody else has been faster
    }
    for (Challenge challenge : challenges) {
      if (challenge.scheme().equals("bearer")) {
        buy(TokenServer.of(from, challenge));
        return true;
      }
    }
    boolean basic = challenges.stream().anyMatch(challenge -> challenge.scheme().equals("basic"));
    return basic && (showLogin() || (lookAgain() && showLogin()));
  }

  /**
   * Makes a new {@link #header} of other credentials, after what we had did not suffice.
   *
   * @return false if there are none
   */
  synchronized boolean replace(@Nullable String refused) throws IOException {
    if (!Objects.equals(header, refused)) {
      return true; // somebody else has been faster
    }
    if (refused == null || !lookAgain()) {
      return false;
    }
    if (server == null) {
      return showLogin();
    }
    buy(server);
    return true;
  }

  private boolean showLogin() throws IOException {
    Optional<Login> shown = login();
    if (shown.isEmpty() || shown.get().isIdentityToken()) {
      return false;
    }
    String made = shown.get().basic();
    boolean isNew = !made.equals(header);
    server = null;
    header = made;
    return isNew;
  }

  private void buy(TokenServer from) throws IOException {
    Token token;
    try {
      token = from.buy(transport, login(), scopes, image);
    } catch (RegistryException e) {
      if (e.kind() != RegistryException.Kind.UNAUTHORIZED || !lookAgain()) {
        throw e;
      }
      token = from.buy(transport, login(), scopes, image);
    }
    Duration tenth = token.life().dividedBy(10);
    Duration margin = tenth.compareTo(MARGIN) < 0 ? tenth : MARGIN;
    expiry = nanos.getAsLong() + token.life().minus(margin).toNanos();
    header = "Bearer " + token.value();
    server = from;
  }
}
