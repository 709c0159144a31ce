package dev.platter.node;

import dev.platter.model.ByteSize;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.IdentityDisks.Outcome;
import dev.platter.node.IdentityRecords.Stage;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.plan.IdentityPlan;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Gatherers;

/**
 * Makes the disks of several identities at once, in three rounds that each end with a sync of their
 * directory: the records, each for some of them, the overlays, and the names of the records. In a
 * round, files are written and synced side by side, since a file system makes one commit of the
 * syncs that wait for it. The lock of the identities is held.
 */
final class IdentityMaker {
  private static final int SIDE_BY_SIDE = 32;
  private static final Duration REST = Duration.ofSeconds(5);

  private final StateLayout layout;
  private final StepRunner runner;
  private final Progress progress;
  private final Executor workers;
  private final IdentityRecords records;
  private final VmRecord all;

  /** In order; one that failed is not among them any more. */
  private final Map<IdentityKey, IdentityDisk> making = new LinkedHashMap<>();

  private final Map<IdentityKey, PlatterException> failed = new ConcurrentHashMap<>();

  /**
   * @param workers as of {@link #workers}
   */
  IdentityMaker(
      StateLayout layout,
      StepRunner runner,
      Progress progress,
      Executor workers,
      String libvirt,
      Collection<IdentityDisk> disks) {
    this.layout = layout;
    this.runner = runner;
    this.progress = progress;
    this.workers = workers;
    this.records = new IdentityRecords(layout);
    disks.forEach(disk -> making.put(disk.identity().key(), disk));
    this.all =
        new VmRecord(
            layout.identities(Stage.MAKING.word()), plan(layout, libvirt, making.values()));
  }

  /** They outlive a batch, of which there may be many, each of a few; and end by themselves. */
  static Executor workers() {
    var threads = Thread.ofPlatform().name("identity-maker-", 0).daemon().factory();
    var out =
        new ThreadPoolExecutor(
            SIDE_BY_SIDE,
            SIDE_BY_SIDE,
            REST.toMillis(),
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            threads);
    out.allowCoreThreadTimeOut(true);
    return out;
  }

  /** All that is made, for those who want to know before or after. */
  static Plan plan(StateLayout layout, String libvirt, Collection<IdentityDisk> disks) {
    var images = new TreeMap<String, String>();
    var pools = new TreeMap<String, String>();
    var steps = new LinkedHashSet<Step>();
    for (var disk : disks) {
      pools.put(disk.place().pool(), Durable.parent(disk.file()).toString());
      var image = IdentityPlan.image(disk.identity(), disk.place());
      image.ifPresent(step -> images.put(step.reference(), step.digest()));
      image.ifPresent(steps::add);
    }
    disks.forEach(disk -> steps.add(IdentityPlan.overlay(disk.identity(), disk.place(), layout)));
    return new Plan(
        Plan.VERSION,
        "",
        "identities",
        new UUID(0, 0),
        libvirt,
        images,
        pools,
        List.of(),
        List.copyOf(steps));
  }

  private Step.CreateOverlay overlay(IdentityDisk disk) {
    return IdentityPlan.overlay(disk.identity(), disk.place(), layout);
  }

  /**
   * @param logins what the registries of the images are told
   */
  Map<IdentityKey, Outcome> make(ImageLogins logins) throws IOException {
    var outcomes = new LinkedHashMap<IdentityKey, Outcome>();
    var wanted = List.copyOf(making.values());
    runner.preparePools(all.plan(), all.plan().steps());
    records.makeDirectories();
    refuseForeign();
    var written = new ConcurrentLinkedQueue<Written>();
    sideBySide(together(), disks -> written.add(new Written(records.write(disks), disks)));
    records.sync(Stage.MAKING);
    images(new Given(SecretData.of(logins)));
    sideBySide(List.copyOf(making.values()), disk -> attempt(disk, () -> disk(disk)));
    forgetFailed();
    for (var pool : all.plan().pools().values()) {
      Durable.syncDirectory(Path.of(pool));
    }
    name(written);
    making.values().forEach(disk -> progress.after(overlay(disk)));
    runner.poolsChanged(all.plan());
    for (var disk : wanted) {
      var why = failed.get(disk.identity().key());
      outcomes.put(
          disk.identity().key(),
          why == null ? new Outcome.Ready(disk) : new Outcome.Failed(disk.identity(), why));
    }
    return outcomes;
  }

  private void refuseForeign() throws IOException {
    for (var disk : making.values()) {
      attempt(disk, () -> runner.refuseForeign(all.plan(), overlay(disk)));
    }
    forgetFailed();
  }

  private record Written(Path record, List<IdentityDisk> disks) {}

  private List<List<IdentityDisk>> together() {
    return making.values().stream()
        .gather(Gatherers.windowFixed(IdentityRecords.TOGETHER))
        .toList();
  }

  /** Should the deletions be lost, as they are not synced, it is seen that they are made. */
  private void name(Collection<Written> written) throws IOException {
    for (var some : written) {
      for (var disk : some.disks()) {
        if (making.containsKey(disk.identity().key())) {
          records.name(some.record(), disk.identity().key(), Stage.READY);
        }
      }
    }
    records.sync(Stage.READY);
    for (var some : written) {
      Files.delete(some.record());
    }
  }

  /** They were here a moment ago, but only now are the records there that keep them here. */
  private void images(Given given) throws IOException {
    for (var step : all.plan().steps()) {
      if (step instanceof Step.EnsureImage image) {
        progress.before(step);
        try {
          run(step, given);
          progress.after(step);
        } catch (PlatterException e) {
          making.values().stream()
              .filter(disk -> image.digest().equals(disk.place().digest()))
              .forEach(disk -> failed.put(disk.identity().key(), e));
        }
      }
    }
    forgetFailed();
  }

  private void disk(IdentityDisk disk) throws IOException {
    refuseTooSmall(disk);
    var step = overlay(disk);
    progress.before(step);
    run(step, new Given(SecretData.NONE));
  }

  private void run(Step step, Given given) throws IOException {
    runner.run(all, step, given, _ -> {});
  }

  private void refuseTooSmall(IdentityDisk disk) throws IOException {
    var wanted = disk.identity().spec().size();
    var image = Files.size(layout.base(Objects.requireNonNull(disk.place().digest())));
    if (wanted != null && wanted.bytes() < image) {
      throw PlatterException.of(
          Code.INVALID,
          "the identity %s has a size of %s, but its image %s has %s"
              .formatted(
                  disk.identity().key(),
                  wanted,
                  disk.identity().spec().image(),
                  ByteSize.of(image)),
          "Leave the size out, or make it larger.");
    }
  }

  private interface Work<T> {
    void on(T item) throws IOException;
  }

  /** All of them, also if one fails. */
  private <T> void sideBySide(List<T> items, Work<T> work) throws IOException {
    if (items.size() < 2) {
      for (var item : items) {
        work.on(item);
      }
      return;
    }
    var results = new ArrayList<FutureTask<Void>>();
    for (var item : items) {
      var task =
          new FutureTask<Void>(
              () -> {
                work.on(item);
                return null;
              });
      results.add(task);
      workers.execute(task);
    }
    await(results);
    for (var result : results) {
      rethrow(result);
    }
  }

  /** What is under way would go on without us, so it is waited for whatever happens. */
  private static void await(List<FutureTask<Void>> results) {
    var interrupted = false;
    for (var result : results) {
      while (result.state() == Future.State.RUNNING) {
        try {
          result.get();
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          // Told by who looks at it.
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Attempt {
    void run() throws IOException;
  }

  /** Of one that fails nothing is left, and the others go on. */
  private void attempt(IdentityDisk disk, Attempt attempt) throws IOException {
    try {
      attempt.run();
    } catch (PlatterException e) {
      failed.put(disk.identity().key(), e);
    }
  }

  private static void rethrow(Future<?> result) throws IOException {
    try {
      result.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case IOException cause -> throw cause;
        case RuntimeException cause -> throw cause;
        case null, default -> throw new IllegalStateException(e);
      }
    }
  }

  private void forgetFailed() {
    making.keySet().removeAll(failed.keySet());
  }
}
