package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.redirect;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Registries that send us elsewhere. */
class RedirectTest extends AgainstFakeRegistry {
  @Test
  void credentialsDoNotFollowARedirectToAnotherOrigin() throws IOException {
    registry.on(
        BLOB_PATH,
        registry.guarded(
            LOGIN, "Basic realm=\"x\"", redirect("http://" + other.host() + "/cdn?sig=1")));
    other.on("/cdn", bytes(BLOB));
    assertThat(read(joe())).isEqualTo(BLOB);
    assertThat(other.requests).containsExactly("/cdn?sig=1 null");
  }

  @Test
  void credentialsDoNotComeBackOnADetour() throws IOException {
    registry.on(
        BLOB_PATH,
        registry.guarded(LOGIN, "Basic realm=\"x\"", redirect("http://" + other.host() + "/a")));
    other.on("/a", redirect("http://" + registry.host() + "/b"));
    registry.on("/b", bytes(BLOB));
    assertThat(read(joe())).isEqualTo(BLOB);
    assertThat(registry.requests.getLast()).isEqualTo("/b null");
  }

  @Test
  void aStrangerWhoAsksForThePasswordDoesNotGetIt() {
    registry.on(BLOB_PATH, redirect("http://" + other.host() + "/thief"));
    other.on("/thief", other.guarded(LOGIN, "Basic realm=\"x\"", bytes(BLOB)));
    assertFails(Kind.UNAUTHORIZED, "refused", () -> read(joe()));
    assertThat(other.requests).containsExactly("/thief null");
  }

  @Test
  void redirectsWithinTheOriginKeepTheCredentials() throws IOException {
    registry.on(BLOB_PATH, registry.guarded(LOGIN, "Basic realm=\"x\"", redirect("/moved")));
    registry.on("/moved", registry.guarded(LOGIN, "Basic realm=\"x\"", bytes(BLOB)));
    assertThat(read(joe())).isEqualTo(BLOB);
  }

  @Test
  void aLoopOfRedirectsEnds() {
    registry.on(BLOB_PATH, redirect(BLOB_PATH));
    assertFails(Kind.PROTOCOL, "more than 5 redirects", () -> read(anonymous()));
    assertThat(registry.requests).hasSize(6);
  }

  @Test
  void aRedirectToPlainHttpElsewhereIsRefused() {
    registry.on(BLOB_PATH, redirect("http://example.com/x?SECRET"));
    assertFails(Kind.PROTOCOL, "refused to go to http://example.com/x:", () -> read(anonymous()));
  }
}
