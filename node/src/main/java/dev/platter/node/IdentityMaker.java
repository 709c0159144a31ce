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
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Makes the disks of several identities at once, in three rounds that each end with a sync of their
 * directory: the records, the overlays, and the records' new places. In a round, files are written
 * and synced side by side, since a file system makes one commit of the syncs that wait for it. The
 * lock of the identities is held.
 */
final class IdentityMaker {
  private static final int SIDE_BY_SIDE = 32;

  private final StateLayout layout;
  private final StepRunner runner;
  private final Progress progress;
  private final IdentityRecords records;
  private final VmRecord all;

  /** In order; one that failed is not among them any more. */
  private final Map<IdentityKey, IdentityDisk> making = new LinkedHashMap<>();

  private final Map<IdentityKey, PlatterException> failed = new ConcurrentHashMap<>();

  IdentityMaker(
      StateLayout layout,
      StepRunner runner,
      Progress progress,
      String libvirt,
      Collection<IdentityDisk> disks) {
    this.layout = layout;
    this.runner = runner;
    this.progress = progress;
    this.records = new IdentityRecords(layout);
    disks.forEach(disk -> making.put(disk.identity().key(), disk));
    this.all =
        new VmRecord(
            layout.identities(Stage.MAKING.word()), plan(layout, libvirt, making.values()));
  }

  /** All that is made, for those who want to know before or after. */
  static Plan plan(StateLayout layout, String libvirt, Collection<IdentityDisk> disks) {
    var images = new TreeMap<String, String>();
    var pools = new TreeMap<String, String>();
    var steps = new LinkedHashSet<Step>();
    for (var disk : disks) {
      images.put(disk.identity().spec().image(), disk.place().digest());
      pools.put(disk.place().pool(), Durable.parent(disk.file()).toString());
      steps.add(IdentityPlan.image(disk.identity(), disk.place()));
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
    each(this::record);
    records.sync(Stage.MAKING);
    images(new Given(SecretData.of(logins)));
    each(this::disk);
    for (var pool : all.plan().pools().values()) {
      Durable.syncDirectory(Path.of(pool));
    }
    for (var key : making.keySet()) {
      records.move(key, Stage.MAKING, Stage.READY);
    }
    records.sync(Stage.READY, Stage.MAKING);
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

  private void record(IdentityDisk disk) throws IOException {
    runner.refuseForeign(all.plan(), overlay(disk));
    records.write(disk);
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
              .filter(disk -> disk.place().digest().equals(image.digest()))
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
    var image = Files.size(layout.base(disk.place().digest()));
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

  private interface Work {
    void on(IdentityDisk disk) throws IOException;
  }

  /** Of one that fails nothing is left, and the others go on. */
  private void each(Work work) throws IOException {
    var disks = List.copyOf(making.values());
    if (disks.size() < 2) {
      for (var disk : disks) {
        attempt(disk, work);
      }
    } else {
      var results = new ArrayList<Future<?>>();
      try (var workers = Executors.newFixedThreadPool(Math.min(SIDE_BY_SIDE, disks.size()))) {
        for (var disk : disks) {
          results.add(
              workers.submit(
                  () -> {
                    attempt(disk, work);
                    return null;
                  }));
        }
      }
      for (var result : results) {
        rethrow(result);
      }
    }
    forgetFailed();
  }

  private void attempt(IdentityDisk disk, Work work) throws IOException {
    try {
      work.on(disk);
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

  private void forgetFailed() throws IOException {
    for (var key : failed.keySet()) {
      if (making.remove(key) != null) {
        records.delete(layout.identity(key, Stage.MAKING.word()));
      }
    }
  }
}
