package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

class WorkQueueTest {
  private Instant now = Instant.EPOCH;
  private final WorkQueue queue = new WorkQueue(() -> now);

  @Test
  void keyIsInItOnce() throws Exception {
    queue.add("a");
    queue.add("a");
    queue.add("b");
    assertThat(queue.size()).isEqualTo(2);
    assertThat(queue.take()).isEqualTo("a");
    assertThat(queue.take()).isEqualTo("b");
    assertThat(queue.size()).isZero();
  }

  @Test
  void keyThatIsWorkedOnComesAgainAfterwards() throws Exception {
    queue.add("a");
    assertThat(queue.take()).isEqualTo("a");
    queue.add("a");
    queue.add("b");
    assertThat(queue.take()).isEqualTo("b");
    queue.done("a");
    assertThat(queue.take()).isEqualTo("a");
  }

  @Test
  void earliestTimeCounts() throws Exception {
    queue.add("late", Duration.ofHours(1));
    queue.add("late", Duration.ofMinutes(1));
    queue.add("late", Duration.ofHours(2));
    queue.add("soon", Duration.ofSeconds(61));
    assertThat(queue.size()).isEqualTo(2);
    now = now.plusSeconds(61);
    assertThat(queue.take()).isEqualTo("late");
    assertThat(queue.take()).isEqualTo("soon");
  }

  @Test
  void failuresWaitLongerEachTimeUpToAMinuteUntilOneSucceeds() throws Exception {
    for (var millis : new long[] {20, 40, 80}) {
      assertDelay(millis);
    }
    for (var i = 0; i < 30; i++) {
      queue.retry("a");
      now = now.plusSeconds(60);
      assertThat(queue.take()).isEqualTo("a");
      queue.done("a");
    }
    assertDelay(60_000);
    queue.succeeded("a");
    assertDelay(20);
  }

  /** A key added for one moment earlier comes first, one added for later comes second. */
  private void assertDelay(long millis) throws Exception {
    queue.retry("a");
    queue.add("before", Duration.ofMillis(millis - 1));
    queue.add("after", Duration.ofMillis(millis + 1));
    now = now.plusMillis(millis + 1);
    for (var key : new String[] {"before", "a", "after"}) {
      assertThat(queue.take()).isEqualTo(key);
      queue.done(key);
    }
  }

  @Test
  void whoWaitsIsWokenForEachKeyAtItsTime() throws Exception {
    var taken = ConcurrentHashMap.<String>newKeySet();
    // The queue is closed first: those who wait for it end then.
    try (var workers = Executors.newVirtualThreadPerTaskExecutor();
        var real = new WorkQueue(InstantSource.system())) {
      for (var i = 0; i < 4; i++) {
        workers.submit(
            () -> {
              for (var key = real.take(); key != null; key = real.take()) {
                taken.add(key);
                real.done(key);
              }
              return null;
            });
      }
      for (var i = 0; i < 200; i++) {
        real.add("now-" + i);
        real.add("later-" + i, Duration.ofMillis(i % 7 * 20));
        Thread.sleep(1);
      }
      await().until(() -> taken.size() == 400);
    }
  }

  private static String take(WorkQueue queue) {
    try {
      return String.valueOf(queue.take());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void closedQueueLetsThoseGoWhoWait() {
    var waiting = CompletableFuture.supplyAsync(() -> take(queue));
    queue.close();
    await().untilAsserted(() -> assertThat(waiting).isCompletedWithValue("null"));
  }
}
