package dev.platter.cluster.node;

import dev.platter.node.Progress;
import dev.platter.node.image.Images;
import dev.platter.plan.Step;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The VMs that are being started, by UUID: what happens inside of a start is told by UUID, and
 * begins before the node that tells it is there.
 */
final class Starts implements Progress {
  /**
   * QEMUs that start at once. More than there are processors would only make each of them slower,
   * and all else that starts a VM.
   */
  private static final int AT_ONCE = Math.max(2, Runtime.getRuntime().availableProcessors());

  /** A start that waits for a server that does not answer is not to hold up the others. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /**
   * @param thread the one that makes the VM's disks
   * @param told how far a long copy is
   * @param awaitLauncher waits for it, if it is not there
   */
  private record Start(
      Pod pod,
      StartClock clock,
      AtomicBoolean hasTurn,
      Thread thread,
      Images.BytesDone told,
      Runnable awaitLauncher) {}

  private final AtomicLong begun = new AtomicLong();
  private final Semaphore turns = new Semaphore(AT_ONCE, true);

  private final Map<UUID, Start> all = new ConcurrentHashMap<>();
  private final Consumer<String> log;

  Starts(Consumer<String> log) {
    this.log = log;
  }

  /** In the thread that makes the VM's disks. */
  void begin(UUID vm, Pod pod, StartClock clock, Images.BytesDone told) {
    begin(vm, pod, clock, told, () -> {});
  }

  /**
   * @param awaitLauncher may end the start by an exception
   */
  void begin(UUID vm, Pod pod, StartClock clock, Images.BytesDone told, Runnable awaitLauncher) {
    begun.incrementAndGet();
    var thread = Thread.currentThread();
    all.put(vm, new Start(pod, clock, new AtomicBoolean(), thread, told, awaitLauncher));
  }

  /** How many there have been. */
  long count() {
    return begun.get();
  }

  void end(UUID vm) {
    var start = all.remove(vm);
    if (start != null && start.hasTurn().get()) {
      turns.release();
    }
  }

  /** The pod whose VM it is; empty if it is none, or is not being started. */
  Optional<Pod> pod(UUID vm) {
    return Optional.ofNullable(all.get(vm)).map(Start::pod);
  }

  @Override
  public void before(Step step) {
    if (step instanceof Step.StartDomain domain) {
      var start = all.get(domain.uuid());
      if (start != null) {
        start.clock().enter(StartClock.Part.LAUNCHER);
        start.awaitLauncher().run();
        start.clock().enter(StartClock.Part.QEMU);
        start.hasTurn().set(turn());
      }
    }
  }

  private boolean turn() {
    try {
      return turns.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // The start is about to notice.
      return false;
    }
  }

  @Override
  public void bytes(String what, long done, long total) {
    for (var start : all.values()) {
      if (start.thread().equals(Thread.currentThread())) {
        start.told().bytes(what, done, total);
      }
    }
  }

  @Override
  public void warning(String text) {
    log.accept(text);
  }
}
