package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Registries that are overloaded, break off, or are not there. */
class UnreliableRegistryTest extends AgainstFakeRegistry {
  @ParameterizedTest
  @ValueSource(ints = {429, 500, 502, 503, 504})
  void anOverloadedRegistryIsAskedAgain(int status) throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> (asked.incrementAndGet() < 3 ? status(status) : bytes(BLOB)).to(exchange));
    assertThat(read(anonymous())).isEqualTo(BLOB);
    assertThat(asked).hasValue(3);
  }

  @Test
  void theRegistrySaysHowLongToWait() throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.getResponseHeaders().set("Retry-After", "1");
          (asked.incrementAndGet() < 2 ? status(429) : bytes(BLOB)).to(exchange);
        });
    long start = System.nanoTime();
    assertThat(read(anonymous())).isEqualTo(BLOB);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(990));
  }

  @Test
  void aRegistryThatStaysOverloadedIsUnavailable() {
    registry.on(BLOB_PATH, status(503));
    assertFails(Kind.UNAVAILABLE, "answered 503, also after 4 attempts", () -> read(anonymous()));
  }

  @Test
  void aRegistryThatIsNotThereIsUnavailable() throws IOException {
    int port;
    try (var socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    RegistryClient client =
        client(Reference.parse("127.0.0.1:" + port + "/vm"), Credentials.none());
    assertFails(Kind.UNAVAILABLE, "cannot reach http://127.0.0.1:" + port, () -> read(client));
  }

  @Test
  void aConnectionThatBreaksBeforeTheAnswerIsTriedAgain() throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> {
          if (asked.incrementAndGet() >= 2) {
            bytes(BLOB).to(exchange);
          }
        });
    assertThat(read(anonymous())).isEqualTo(BLOB);
  }

  @Test
  void aBlobThatBreaksOffIsNotTakenForWhole() {
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.sendResponseHeaders(200, 10);
          exchange.getResponseBody().write(BLOB, 0, 5);
          exchange.getResponseBody().flush();
        });
    assertFails(Kind.UNAVAILABLE, "broke after 5 bytes", () -> read(anonymous()));
  }

  @Test
  void aBlobThatStallsIsGivenUp() {
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.sendResponseHeaders(200, 10);
          exchange.getResponseBody().write(BLOB, 0, 5);
          exchange.getResponseBody().flush();
          sleep();
        });
    assertFails(Kind.UNAVAILABLE, "nothing came for", () -> read(anonymous()));
  }

  @Test
  void aRegistryThatNeverAnswersIsGivenUp() {
    registry.on(BLOB_PATH, _ -> sleep());
    assertFails(Kind.UNAVAILABLE, "cannot reach", () -> read(anonymous()));
  }

  private static void sleep() {
    try {
      Thread.sleep(5_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
