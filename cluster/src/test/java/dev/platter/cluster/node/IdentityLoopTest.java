package dev.platter.cluster.node;

import static dev.platter.cluster.node.FakeIdentities.PET;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.platter.model.IdentityKey;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When a node looks at its identities. Each look asks for the nodes once. */
@Timeout(60)
class IdentityLoopTest {
  private static final Duration NEVER = Duration.ofHours(1);
  private static final Duration OFTEN = Duration.ofMillis(20);

  private final FakeIdentities server = new FakeIdentities();
  private final List<String> said = new CopyOnWriteArrayList<>();
  private final AtomicInteger looks = new AtomicInteger();

  @TempDir Path work;
  private MovingNode node;
  private @Nullable IdentityLoop loop;

  @BeforeEach
  void make() throws IOException {
    node = new MovingNode("one", work, server, server);
    server.make("uid-1", "one");
    server.beforeNodes = looks::incrementAndGet;
  }

  @AfterEach
  void close() throws IOException {
    if (loop != null) {
      loop.close();
    }
    node.close();
  }

  private IdentityLoop start(Duration sweep) {
    loop = new IdentityLoop(sweep, said::add);
    loop.start(node.keeper());
    return loop;
  }

  private static void awaitOpen(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void whatIsHereIsLookedAtFirst() throws IOException {
    node.keeper().look(List.of(PET), false);
    server.vanish();
    start(NEVER);
    await().until(node::isClean);
    assertThat(looks).hasValue(2);
  }

  @Test
  void whatChangesDuringALookIsLookedAtInTheNextAllAtOnce() {
    var goOn = new CountDownLatch(1);
    server.beforeNodes =
        () -> {
          if (looks.incrementAndGet() == 1) {
            awaitOpen(goOn);
          }
        };
    var started = start(NEVER);
    await().until(() -> looks.get() == 1);
    started.add(PET);
    started.add(new IdentityKey("default", "other"));
    started.add(PET);
    goOn.countDown();
    await().until(server::isReady);
    started.close();
    assertThat(looks).hasValue(2);
    assertThat(server.written()).isEqualTo(1);
  }

  @Test
  void whatCouldNotBeSaidIsSaidAtTheNextSweep() {
    server.beforeStatus =
        () -> {
          server.beforeStatus = () -> {};
          throw FakeIdentities.refusal(500);
        };
    start(OFTEN).add(PET);
    await().until(server::isReady);
  }

  @Test
  void whatIsLeftToTheSweepIsLookedAtInIt() {
    start(OFTEN).addToSweep(PET);
    await().until(server::isReady);
  }

  @Test
  void aLookThatFailsIsComplainedOfAndRepeated() {
    server.beforeNodes =
        () -> {
          if (looks.incrementAndGet() < 3) {
            throw new IllegalStateException("nodes are away");
          }
        };
    start(OFTEN).add(PET);
    await().until(server::isReady);
    assertThat(said).hasSize(2).allMatch(it -> it.contains("nodes are away"));
  }

  @Test
  void whatVanishesUnnoticedGoesWithTheNextSweep() {
    start(OFTEN).add(PET);
    await().until(server::isReady);
    server.vanish();
    await().until(node::isClean);
  }

  @Test
  void itsEndWaitsForALookAndIsFollowedByNone() {
    var goOn = new CountDownLatch(1);
    server.beforeNodes =
        () -> {
          looks.incrementAndGet();
          awaitOpen(goOn);
        };
    var started = start(OFTEN);
    await().until(() -> looks.get() == 1);
    var end = CompletableFuture.runAsync(started::close);
    started.add(PET);
    assertThatThrownBy(() -> end.get(100, MILLISECONDS)).isInstanceOf(TimeoutException.class);
    goOn.countDown();
    end.join();
    assertThat(looks).hasValue(1);
    assertThat(node.usable()).isFalse();
  }
}
