package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.registry.Absences.Asking;
import dev.platter.registry.RegistryConfig.Mirror;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mirrors that come and go while a guest reads; {@code other} is one. */
class MirrorTest extends AgainstFakeRegistry {
  @TempDir Path home;
  private final AtomicLong time = new AtomicLong();
  private RegistryClient client;

  @BeforeEach
  void makeClient() {
    client = mirrored(other.host());
    registry.on(BLOB_PATH, bytes(BLOB));
  }

  private RegistryClient mirrored(String mirror) {
    return mirrored(mirror, Credentials.none());
  }

  private RegistryClient mirrored(String mirror, Credentials credentials) {
    return registries(mirror, credentials).client(registry.image());
  }

  private Registries registries(String mirror, Credentials credentials) {
    String host = registry.host();
    var config = new RegistryConfig(host, host, false, false, List.of(new Mirror(mirror, false)));
    var settings = new RegistrySettings(List.of(config), List.of(), AddressPolicy.any(), 4);
    return FakeRegistry.impatient(settings, credentials, time::get);
  }

  private void wait(Duration duration) {
    time.addAndGet(duration.toNanos());
  }

  /** How often the mirror was asked for one blob. */
  private int asked() throws IOException {
    other.requests.clear();
    assertThat(read(client)).isEqualTo(BLOB);
    return other.requests.size();
  }

  @Test
  void aMirrorThatIsDownIsPassedOverForLongerEachTime() throws IOException {
    other.on(BLOB_PATH, status(503));
    assertThat(asked()).isEqualTo(4);
    for (int seconds : List.of(30, 60, 120, 240, 300, 300)) {
      wait(Duration.ofSeconds(seconds - 1));
      assertThat(asked()).isZero();
      wait(Duration.ofSeconds(1));
      assertThat(asked()).isEqualTo(1);
    }
  }

  @Test
  void nobodyConnectsToAMirrorThatIsPassedOver() throws IOException {
    var connections = new AtomicInteger();
    try (var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> hangUp(server, connections));
      client = mirrored("127.0.0.1:" + server.getLocalPort());
      for (int i = 0; i < 3; i++) {
        assertThat(read(client)).isEqualTo(BLOB);
        client.connect();
      }
      assertThat(connections).hasValue(4);
    }
  }

  private static void hangUp(ServerSocket server, AtomicInteger connections) {
    try {
      while (true) {
        server.accept().close();
        connections.incrementAndGet();
      }
    } catch (IOException e) {
      // The server was closed.
    }
  }

  @Test
  void aMirrorThatIsBackIsAskedFirstAgain() throws IOException {
    other.on(BLOB_PATH, status(503));
    assertThat(asked()).isEqualTo(4);
    other.on(BLOB_PATH, bytes(BLOB));
    wait(Duration.ofMinutes(1));
    registry.requests.clear();
    assertThat(asked()).isEqualTo(1);
    assertThat(asked()).isEqualTo(1);
    assertThat(registry.requests).isEmpty();
  }

  /** As one does that cannot get it from its own registry, which a stranger may have named. */
  @Test
  void aMirrorThatFailsForOneRepositoryIsAskedForOthers() throws IOException {
    var registries = registries(other.host(), Credentials.none());
    client = registries.client(registry.image());
    other.on(BLOB_PATH, status(502));
    assertThat(asked()).isEqualTo(4);
    assertThat(asked()).isZero();
    other.on(BLOB_PATH, bytes(BLOB));
    client = registries.client(registry.image());
    assertThat(asked()).isEqualTo(1);
  }

  @Test
  void aMirrorThatCannotBeReachedIsPassedOverForAll() throws IOException {
    var connections = new AtomicInteger();
    try (var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> hangUp(server, connections));
      var registries = registries("127.0.0.1:" + server.getLocalPort(), Credentials.none());
      assertThat(read(registries.client(registry.image()))).isEqualTo(BLOB);
      assertThat(read(registries.client(registry.image()))).isEqualTo(BLOB);
      assertThat(connections).hasValue(4);
    }
  }

  @Test
  void aMirrorThatHasNotTheBlobIsNotAway() throws IOException {
    assertThat(asked()).isEqualTo(1);
    assertThat(asked()).isEqualTo(1);
  }

  @Test
  void whoHasNoLoginForAMirrorBecauseAHelperFailsReadsFromTheRegistry() throws IOException {
    Files.createDirectory(home.resolve(".docker"));
    Files.writeString(
        home.resolve(".docker/config.json"),
        "{\"credHelpers\":{\"" + other.host() + "\":\"bad\"}}");
    Path helper = Files.writeString(home.resolve("docker-credential-bad"), "#!/bin/sh\nexit 3\n");
    Files.setPosixFilePermissions(helper, PosixFilePermissions.fromString("rwxr-xr-x"));
    client =
        mirrored(
            other.host(),
            Credentials.fromEnvironment(Map.of("HOME", home + "", "PATH", home + "")));
    other.on(BLOB_PATH, other.guarded("-", "Basic realm=\"x\"", bytes(BLOB)));
    assertThat(asked()).isEqualTo(1);
  }

  /** Where only mirrors can be reached. */
  @Test
  void aMirrorThatIsPassedOverIsAskedAfterAllIfThereIsNoOtherPlace() throws IOException {
    other.on(BLOB_PATH, status(503));
    assertThat(asked()).isEqualTo(4);
    registry.on(BLOB_PATH, status(404));
    assertFails(Kind.NOT_FOUND, registry.host(), () -> read(client));
    other.on(BLOB_PATH, bytes(BLOB));
    assertThat(asked()).isEqualTo(1);
  }

  @Test
  void oneRequestTriesAMirrorForAll() {
    var absences = new Absences(time::get);
    absences.failed("m");
    absences.failed("m");
    assertThat(absences.asking("m")).isEqualTo(Asking.NOT);
    wait(Duration.ofSeconds(30));
    assertThat(absences.asking("m")).isEqualTo(Asking.ONCE);
    assertThat(absences.asking("m")).isEqualTo(Asking.NOT);
    wait(Duration.ofSeconds(30));
    assertThat(absences.asking("m")).as("the first was interrupted").isEqualTo(Asking.ONCE);
    absences.answered("m");
    assertThat(absences.asking("m")).isEqualTo(Asking.AS_USUAL);
  }
}
