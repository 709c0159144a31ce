package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.ranged;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tokens and connections that many requests share. */
class SharedAccessTest extends PartsOfABlob {
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
