package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.inTurn;
import static dev.platter.registry.FakeRegistry.ranged;
import static dev.platter.registry.FakeRegistry.redirect;
import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Digest;
import dev.platter.registry.FakeRegistry.Answer;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Parts of blobs, from registries that serve them well, badly, or not at all. */
class RangeTest {
  private static final byte[] BLOB = random(100_000);
  private static final Descriptor DESCRIPTOR = new Descriptor("t", Digest.of(BLOB), BLOB.length);
  private static final String PATH = "/v2/vm/blobs/" + DESCRIPTOR.digest();
  private static final String LOGIN = "Basic am9lOmh1bnRlcjI="; // joe:hunter2

  private FakeRegistry registry;
  private FakeRegistry other;

  private static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new Random(5).nextBytes(bytes);
    return bytes;
  }

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
    other = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    registry.close();
    other.close();
  }

  private RegistryClient client() throws IOException {
    String json =
        "{\"auths\":{\"%s\":{\"username\":\"joe\",\"password\":\"hunter2\"}}}"
            .formatted(registry.host());
    Credentials joe = Credentials.parse(json.getBytes(StandardCharsets.UTF_8));
    return FakeRegistry.eager(RegistrySettings.defaults(), joe).client(registry.image());
  }

  private static byte[] slice(int from, int length) {
    return Arrays.copyOfRange(BLOB, from, from + length);
  }

  private static byte[] read(RegistryClient client, long from, long length) throws IOException {
    try (RangeStream in = client.open(DESCRIPTOR, from, length)) {
      return in.readAllBytes();
    }
  }

  private static byte[] readAll(RegistryClient client) throws IOException {
    try (InputStream in = client.open(DESCRIPTOR)) {
      return in.readAllBytes();
    }
  }

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
  void oneRequestBringsOneRange() throws IOException {
    registry.on(PATH, ranged(BLOB));
    assertThat(read(client(), 70_000, 500)).isEqualTo(slice(70_000, 500));
    assertThat(read(client(), 0, 1)).isEqualTo(slice(0, 1));
    assertThat(read(client(), 99_999, 1)).isEqualTo(slice(99_999, 1));
    assertThat(registry.ranges)
        .containsExactly("bytes=70000-70499", "bytes=0-0", "bytes=99999-99999");
  }

  @ParameterizedTest
  @CsvSource({"-1, 5", "0, 0", "99999, 2", "5, 9223372036854775807"})
  void aRangeOutsideTheBlobIsTheCallersMistake(long from, long length) throws IOException {
    RegistryClient client = client();
    assertThatThrownBy(() -> client.open(DESCRIPTOR, from, length))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(registry.requests).isEmpty();
  }

  @Test
  void theWholeBlobInPlaceOfARangeIsSkippedThrough() throws IOException {
    registry.on(PATH, bytes(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      assertThat(in.isWhole()).isTrue();
      assertThat(in.readAllBytes()).isEqualTo(slice(70_000, 500));
      assertThatThrownBy(in::whole).isInstanceOf(IllegalStateException.class);
    }
    assertThat(registry.requests).hasSize(1);
  }

  @Test
  void theWholeBlobInPlaceOfARangeCanBeUsedWhole() throws IOException {
    registry.on(PATH, bytes(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      assertThat(in.whole().readAllBytes()).isEqualTo(BLOB);
    }
    assertThat(registry.requests).hasSize(1);
  }

  @Test
  void theWholeBlobInPlaceOfARangeIsVerifiedWhenUsedWhole() throws IOException {
    byte[] changed = BLOB.clone();
    changed[3] ^= 1;
    registry.on(PATH, bytes(changed));
    try (RangeStream in = client().open(DESCRIPTOR, 70_000, 500)) {
      InputStream whole = in.whole();
      assertThatThrownBy(whole::readAllBytes).isInstanceOf(BadImageException.class);
    }
  }

  @Test
  void aPartCannotBeUsedWhole() throws IOException {
    registry.on(PATH, ranged(BLOB));
    try (RangeStream in = client().open(DESCRIPTOR, 0, 500)) {
      assertThat(in.isWhole()).isFalse();
      assertThatThrownBy(in::whole).isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "bytes 11-20/100000, 10",
        "bytes 10-18/100000, 9",
        "bytes 10-20/100000, 11",
        "bytes 10-19/99999, 10",
        "bytes 10-19/100000, 11",
        "bytes 10-19/100000, 9",
        "bytes */100000, 10",
        "items 10-19/100000, 10",
        "bytes 10-99999999999999999999/100000, 10",
        "-, 10",
      })
  void otherBytesThanThoseAskedForAreRefused(String range, int length) throws IOException {
    registry.on(
        PATH,
        exchange -> {
          if (range != null) {
            exchange.getResponseHeaders().set("Content-Range", range);
          }
          exchange.sendResponseHeaders(206, length);
          exchange.getResponseBody().write(BLOB, 10, length);
        });
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10))
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PROTOCOL))
        .hasMessageContaining("was asked for bytes 10-19 of blob " + DESCRIPTOR.digest());
    assertThat(registry.requests).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"9", "11"})
  void aPartOfAnotherLengthThanItSaysIsRefused(int length) throws IOException {
    registry.on(
        PATH,
        exchange -> {
          exchange.getResponseHeaders().set("Content-Range", "bytes 10-19/100000");
          exchange.sendResponseHeaders(206, 0); // chunked: no length to compare with
          exchange.getResponseBody().write(BLOB, 10, length);
        });
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10)).isInstanceOf(BadImageException.class);
  }

  @Test
  void anUnsatisfiableRangeIsRefused() throws IOException {
    registry.on(PATH, status(416));
    RegistryClient client = client();
    assertThatThrownBy(() -> read(client, 10, 10)).hasMessageContaining("answered 416");
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

  @Test
  void aTokenThatExpiresBetweenRangesIsReplacedOnce() throws IOException {
    var sold = new AtomicInteger();
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    other.on(
        "/token", exchange -> text("{\"token\":\"T" + sold.incrementAndGet() + "\"}").to(exchange));
    registry.on(PATH, registry.guarded("Bearer T1", challenge, ranged(BLOB)));
    RegistryClient client = client();
    assertThat(read(client, 0, 10)).isEqualTo(slice(0, 10));
    registry.on(PATH, registry.guarded("Bearer T2", challenge, ranged(BLOB)));
    assertThat(read(client, 10, 10)).isEqualTo(slice(10, 10));
    assertThat(sold).hasValue(2);
  }

  @Test
  void aTokenIsReplacedBeforeTheTimeItsServerSaid() throws Exception {
    var sold = new AtomicInteger();
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    other.on(
        "/token",
        exchange ->
            text("{\"token\":\"T" + sold.incrementAndGet() + "\",\"expires_in\":1}").to(exchange));
    registry.on(PATH, registry.guarded("Bearer T1", challenge, ranged(BLOB)));
    RegistryClient client = client();
    read(client, 0, 10);
    registry.on(PATH, registry.guarded("Bearer T2", challenge, ranged(BLOB)));
    Thread.sleep(950);
    read(client, 10, 10);
    assertThat(registry.requests)
        .as("no request with the old token, hence none that is refused")
        .containsExactly(PATH + " null", PATH + " Bearer T1", PATH + " Bearer T2");
  }

  @Test
  void manyWhoAreRefusedTogetherBuyOneToken() throws Exception {
    var sold = new AtomicInteger();
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    other.on(
        "/token", exchange -> text("{\"token\":\"T" + sold.incrementAndGet() + "\"}").to(exchange));
    var together = new CountDownLatch(4);
    registry.on(
        PATH,
        exchange -> {
          if (exchange.getRequestHeaders().getFirst("Authorization") == null) {
            together.countDown();
            try {
              together.await();
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
          }
          registry.guarded("Bearer T1", challenge, ranged(BLOB)).to(exchange);
        });
    RegistryClient client = client();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?>[] reads = new Future<?>[4];
      for (int i = 0; i < reads.length; i++) {
        int from = i;
        reads[i] = threads.submit(() -> read(client, from, 10));
      }
      for (Future<?> read : reads) {
        read.get();
      }
    }
    assertThat(sold).hasValue(1);
  }

  @Test
  void noMoreRequestsAreUnderWayThanAllowed() throws Exception {
    var now = new AtomicInteger();
    var most = new AtomicInteger();
    registry.on(
        PATH,
        exchange -> {
          most.accumulateAndGet(now.incrementAndGet(), Math::max);
          try {
            Thread.sleep(20);
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
          now.decrementAndGet();
          ranged(BLOB).to(exchange);
        });
    var settings =
        new RegistrySettings(
            RegistrySettings.defaults().registries(),
            RegistrySettings.defaults().certificates(),
            AddressPolicy.any(),
            3);
    Registries registries = FakeRegistry.eager(settings, Credentials.none());
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 12; i++) {
        threads.submit(() -> read(registries.client(registry.image()), 0, 10));
      }
    }
    assertThat(registry.requests).hasSize(12);
    assertThat(most).hasValue(3);
  }

  @Test
  void aConnectionThatIsClosedEarlyIsFreeAgain() throws IOException {
    registry.on(PATH, bytes(BLOB));
    var settings =
        new RegistrySettings(
            RegistrySettings.defaults().registries(),
            RegistrySettings.defaults().certificates(),
            AddressPolicy.any(),
            1);
    RegistryClient client =
        FakeRegistry.eager(settings, Credentials.none()).client(registry.image());
    for (int i = 0; i < 3; i++) {
      client.open(DESCRIPTOR).close();
    }
    try (InputStream held = client.open(DESCRIPTOR)) {
      assertThat(held.read()).isNotNegative();
    }
    assertThat(readAll(client)).isEqualTo(BLOB);
  }
}
