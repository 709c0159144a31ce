package dev.platter.cluster.node;

import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.IdentityDisks;
import dev.platter.node.IdentityDisks.Outcome;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Makes the disks of identities and says so, those of one image together. An image whose registry
 * does not answer keeps those waiting that want it, and nobody else: after a moment it is left to
 * itself, and what came of it is looked at when it is over. Where nothing came of it, that is at
 * the next sweep, however long it took to fail; and nobody waits for that image until it did
 * better.
 */
final class IdentityMaking {
  /** Status changes that are under way at once. */
  private static final int AT_ONCE = 16;

  /** Nearly all are made by then. */
  static final Duration PATIENCE = Duration.ofSeconds(2);

  private final IdentityDisks disks;
  private final IdentityKeeper.Pods pods;
  private final IdentityReports reports;
  private final Consumer<VmIdentity> made;
  private final IdentityKeeper.Later later;
  private final Duration patience;
  private final Consumer<String> log;
  private final Set<IdentityKey> underWay = ConcurrentHashMap.newKeySet();

  /** Images that were left to themselves, and did not come. */
  private final Set<String> slow = ConcurrentHashMap.newKeySet();

  /**
   * @param made is told of disks that are here, before the API server is
   * @param later is told of those that were left to themselves, when that is over
   * @param patience after which they are
   */
  IdentityMaking(
      IdentityDisks disks,
      IdentityKeeper.Pods pods,
      IdentityReports reports,
      Consumer<VmIdentity> made,
      IdentityKeeper.Later later,
      Duration patience,
      Consumer<String> log) {
    this.disks = disks;
    this.pods = pods;
    this.reports = reports;
    this.made = made;
    this.later = later;
    this.patience = patience;
    this.log = log;
  }

  /** What identities have to have in common to be made together. */
  private record Kind(String image, ImageLogins logins) {}

  /** Of one kind. */
  private record Work(
      String image,
      Map<IdentityKey, VmIdentity> objects,
      CompletableFuture<Set<IdentityKey>> again) {}

  /**
   * @return those that have to be looked at again after a while
   */
  Set<IdentityKey> make(List<VmIdentity> wanted) throws IOException {
    var again = ConcurrentHashMap.<IdentityKey>newKeySet();
    var kinds = new LinkedHashMap<Kind, Map<IdentityKey, VmIdentity>>();
    for (var object : wanted) {
      var key = IdentityKeeper.key(object);
      if (underWay.contains(key)) {
        continue;
      }
      try {
        var kind = new Kind(object.read().spec().image(), pods.logins(key));
        kinds.computeIfAbsent(kind, _ -> new HashMap<>()).put(key, object);
      } catch (NoSuchFileException e) {
        again.add(key); // The kubelet mounts them, and then the pod's launcher calls.
      } catch (PlatterException e) {
        again.add(key);
        reports.failed(object, e);
      }
    }
    var works = new ArrayList<Work>();
    kinds.forEach((kind, objects) -> works.add(begin(kind, objects)));
    await(works, again);
    return again;
  }

  private Work begin(Kind kind, Map<IdentityKey, VmIdentity> objects) {
    var work = new Work(kind.image(), objects, new CompletableFuture<>());
    var begun = System.nanoTime();
    underWay.addAll(objects.keySet());
    Thread.ofVirtual()
        .name("make identities")
        .start(
            () -> {
              Set<IdentityKey> again = objects.keySet();
              try {
                again = make(kind.logins(), objects);
              } catch (IOException | RuntimeException e) {
                log.accept("identities: " + e);
              } finally {
                underWay.removeAll(objects.keySet());
                if (again.isEmpty() || System.nanoTime() - begun < patience.toNanos()) {
                  slow.remove(kind.image());
                }
                work.again().complete(again);
              }
            });
    return work;
  }

  private void await(Collection<Work> works, Set<IdentityKey> again) {
    var until = System.nanoTime() + patience.toNanos();
    for (var work : works) {
      try {
        var left = slow.contains(work.image()) ? 0 : Math.max(0, until - System.nanoTime());
        again.addAll(work.again().get(left, TimeUnit.NANOSECONDS));
      } catch (TimeoutException e) {
        leave(work);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        leave(work);
      } catch (ExecutionException e) {
        throw new AssertionError("it ends with those to look at again", e);
      }
    }
  }

  /** Something may have become of each of them meanwhile, be it of its object. */
  private void leave(Work work) {
    slow.add(work.image());
    var _ =
        work.again()
            .thenAccept(
                again -> {
                  for (var key : work.objects().keySet()) {
                    if (again.contains(key)) {
                      later.addToSweep(key);
                    } else {
                      later.add(key);
                    }
                  }
                });
  }

  private Set<IdentityKey> make(ImageLogins logins, Map<IdentityKey, VmIdentity> objects)
      throws IOException {
    var again = ConcurrentHashMap.<IdentityKey>newKeySet();
    var read = new ArrayList<Identity>();
    for (var object : objects.values()) {
      read.add(object.read());
    }
    var room = new Semaphore(AT_ONCE);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (var outcome : disks.ensure(read, logins)) {
        var key = outcome.identity().key();
        var object = objects.get(key);
        if (object == null) {
          continue;
        }
        room.acquireUninterruptibly();
        var _ =
            threads.submit(
                () -> {
                  try {
                    if (!report(object, outcome)) {
                      again.add(key);
                    }
                  } finally {
                    room.release();
                  }
                });
      }
    }
    return again;
  }

  /** False if it has to be looked at again. */
  private boolean report(VmIdentity object, Outcome outcome) {
    return switch (outcome) {
      case Outcome.Ready ready -> {
        made.accept(object);
        yield reports.made(object, ready.disk());
      }
      case Outcome.Failed failed -> {
        reports.failed(object, failed.why());
        yield false;
      }
    };
  }
}
