package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

class LocksTest {
  private final Locks<String> locks = new Locks<>();

  /** A count that only a lock keeps whole. */
  private int count;

  private static <T> T elsewhere(Callable<T> call) throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      return threads.submit(call).get();
    }
  }

  @Test
  void whatOneThreadHasNoOtherGets() throws Exception {
    try (var _ = locks.lock("a")) {
      assertThat(elsewhere(() -> locks.tryLock("a"))).isEmpty();
      assertThat(elsewhere(() -> locks.tryLock("b"))).isPresent();
    }
    assertThat(elsewhere(() -> locks.tryLock("a"))).isPresent();
  }

  @Test
  void aThreadCanTakeWhatItHas() throws Exception {
    try (var _ = locks.lock("a")) {
      try (var again = locks.tryLock("a").orElseThrow()) {
        assertThat(again).isNotNull();
      }
      assertThat(elsewhere(() -> locks.tryLock("a"))).isEmpty();
    }
    assertThat(locks.size()).isZero();
  }

  @Test
  void nothingIsKeptOfKeysThatNobodyWants() throws Exception {
    for (var key = 0; key < 100; key++) {
      locks.lock("key" + key).close();
    }
    try (var _ = locks.lock("a")) {
      assertThat(elsewhere(() -> locks.tryLock("a"))).isEmpty();
      assertThat(locks.size()).isEqualTo(1);
    }
    assertThat(locks.size()).isZero();
  }

  @Test
  void threadsThatComeAndGoExcludeEachOther() {
    try (var threads = Executors.newFixedThreadPool(8)) {
      for (var thread = 0; thread < 8; thread++) {
        threads.submit(this::countUp);
      }
    }
    assertThat(count).isEqualTo(8 * 20_000);
    assertThat(locks.size()).isZero();
  }

  private void countUp() {
    for (var times = 0; times < 20_000; times++) {
      try (var _ = locks.lock("a")) {
        count++;
      }
    }
  }
}
