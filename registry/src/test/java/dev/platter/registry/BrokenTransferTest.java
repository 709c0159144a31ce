package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.inTurn;
import static dev.platter.registry.FakeRegistry.ranged;
import static dev.platter.registry.FakeRegistry.redirect;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.registry.FakeRegistry.Answer;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Transfers that break, and go on where they broke. */
class BrokenTransferTest extends PartsOfABlob {
  /** Sends the beginning of what it promised, lets it arrive, then hangs up. */
  private static Answer broken(int status, String range, int from, int promised, int sent) {
    return exchange -> {
      if (status == 206) {
        exchange.getResponseHeaders().set("Content-Range", range);
      }
      exchange.sendResponseHeaders(status, promised);
      exchange.getResponseBody().write(BLOB, from, sent);
      exchange.getResponseBody().flush();
      try {
        Thread.sleep(50);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    };
  }

  @Test
  void aBrokenPartGoesOnWhereItBroke() throws IOException {
    registry.on(
        PATH, inTurn(broken(206, "bytes 1000-50999/100000", 1000, 50_000, 20_000), ranged(BLOB)));
    assertThat(read(client(), 1000, 50_000)).isEqualTo(slice(1000, 50_000));
    assertThat(registry.ranges).hasSize(2).first().isEqualTo("bytes=1000-50999");
    assertThat(registry.ranges.getLast()).matches("bytes=(?!1000-)[0-9]+-50999");
  }

  @Test
  void aBrokenPartThatComesBackAsAWholeIsStillThePart() throws IOException {
    registry.on(
        PATH, inTurn(broken(206, "bytes 1000-50999/100000", 1000, 50_000, 20_000), bytes(BLOB)));
    assertThat(read(client(), 1000, 50_000)).isEqualTo(slice(1000, 50_000));
  }

  @Test
  void aBrokenBlobGoesOnWhereItBroke() throws IOException {
    registry.on(PATH, inTurn(broken(200, "", 0, 100_000, 60_000), ranged(BLOB)));
    assertThat(readAll(client())).isEqualTo(BLOB);
    assertThat(registry.ranges).singleElement().asString().matches("bytes=[1-9][0-9]*-99999");
  }

  @Test
  void aBlobThatGoesOnWithOtherBytesIsRefused() throws IOException {
    byte[] changed = BLOB.clone();
    changed[99_999] ^= 1;
    registry.on(PATH, inTurn(broken(200, "", 0, 100_000, 60_000), ranged(changed)));
    RegistryClient client = client();
    assertThatThrownBy(() -> readAll(client))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("asked for " + DESCRIPTOR.digest());
  }

  @Test
  void aRegistryThatBreaksEveryTimeIsGivenUp() throws IOException {
    registry.on(
        PATH,
        exchange -> {
          String range = exchange.getRequestHeaders().getFirst("Range");
          int from = Integer.parseInt(range.replaceAll("bytes=|-.*", ""));
          broken(206, "bytes " + from + "-99999/100000", from, 100_000 - from, 1).to(exchange);
        });
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 0, 100_000))
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
    assertThat(registry.requests).hasSizeBetween(4, 8);
  }

  @Test
  void aRangeFollowsARedirectWithoutCredentials() throws IOException {
    String cdn = "http://" + other.host() + "/cdn?sig=1";
    registry.on(PATH, registry.guarded(LOGIN, "Basic realm=\"x\"", redirect(cdn)));
    other.on("/cdn", ranged(BLOB));
    assertThat(read(client(), 10, 20)).isEqualTo(slice(10, 20));
    assertThat(other.requests).containsExactly("/cdn?sig=1 null");
    assertThat(other.ranges).containsExactly("bytes=10-29");
  }

  @Test
  void aBrokenTransferFromElsewhereAsksTheRegistryAgain() throws IOException {
    String cdn = "http://" + other.host() + "/cdn?sig=";
    registry.on(
        PATH,
        registry.guarded(LOGIN, "Basic realm=\"x\"", inTurn(redirect(cdn + 1), redirect(cdn + 2))));
    other.on("/cdn", inTurn(broken(200, "", 0, 100_000, 60_000), ranged(BLOB)));
    assertThat(readAll(client())).isEqualTo(BLOB);
    assertThat(other.requests).containsExactly("/cdn?sig=1 null", "/cdn?sig=2 null");
  }
}
