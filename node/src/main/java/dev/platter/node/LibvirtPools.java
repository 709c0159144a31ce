package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Uuids;
import dev.platter.node.libvirt.Libvirt;
import dev.platter.node.libvirt.LibvirtException;
import dev.platter.node.libvirt.StoragePool;
import dev.platter.plan.PoolXml;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Platter's pools as storage pools of libvirt, for whoever looks there. libvirt cannot make an
 * overlay on a network disk, so Platter makes all files itself and tells libvirt to look again.
 * That opens every file in the directory, so nobody waits for it: it happens in the background, and
 * ends before the connection does; while many disks are made, every few seconds.
 *
 * <p>A pool is shared by VMs and never undone. Its UUID tells whose it is: the first half follows
 * from its name and says that it is Platter's, the second from its directory too. Platter's pool
 * that lies elsewhere by now is defined anew, where the files of both directories stay; a pool of
 * somebody else is left alone.
 */
final class LibvirtPools implements AutoCloseable {
  private static final UUID SPACE = UUID.fromString("c1f0a9d2-2f0b-4b7e-9d6e-57a1c0d3e8b4");

  private static final int MOST_TRIES = 10;
  private static final Duration PAUSE = Duration.ofMillis(20);
  private static final Duration REST = Duration.ofSeconds(5);

  private final LibvirtConnections connections;
  private final Set<Place> waiting = new LinkedHashSet<>();
  private final Map<Place, Long> rested = new HashMap<>();
  private @Nullable ScheduledThreadPoolExecutor background;

  private record Place(String name, String directory) {}

  LibvirtPools(LibvirtConnections connections) {
    this.connections = connections;
  }

  static String title(String name) {
    return "platter-" + name;
  }

  private static UUID uuid(String name, String directory) {
    return new UUID(
        Uuids.version5(SPACE, name).getMostSignificantBits(),
        Uuids.version5(SPACE, name + ":" + directory).getLeastSignificantBits());
  }

  /** The pool is defined and active afterwards; its directory must exist. */
  void ensure(String name, String directory) {
    for (var tries = 1; ; tries++) {
      try {
        connections.use(libvirt -> define(libvirt, name, directory));
        return;
      } catch (LibvirtException e) {
        // Others may do the same at the same time, each a part of it; then it is done soon.
        if (tries == MOST_TRIES) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }

  private static boolean define(Libvirt libvirt, String name, String directory) {
    var uuid = uuid(name, directory);
    try (var found = libvirt.pool(title(name)).orElse(null)) {
      if (found != null && found.uuid().equals(uuid)) {
        if (!found.isActive() && mayLook(directory)) {
          found.start();
        }
        return true;
      }
      if (found != null) {
        forget(found, uuid);
      }
    }
    try (var pool = libvirt.definePool(PoolXml.of(title(name), uuid, directory))) {
      if (mayLook(directory)) {
        pool.start();
      }
      return true;
    }
  }

  /**
   * libvirt finds out a file's format by its first bytes, and opens what they name as its backing
   * file. In a raw disk those bytes are the guest's: so it never looks where there are raw disks.
   */
  private static boolean mayLook(String directory) {
    try (var files = Files.list(Path.of(directory))) {
      return files.noneMatch(file -> file.toString().endsWith(".raw"));
    } catch (IOException | UncheckedIOException e) {
      return false;
    }
  }

  private static void forget(StoragePool pool, UUID ours) {
    if (pool.uuid().getMostSignificantBits() != ours.getMostSignificantBits()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "libvirt has a storage pool " + pool.name() + " that Platter did not make",
          "Platter does not touch it. Rename it, or use another usage-type.");
    }
    if (pool.isActive()) {
      pool.stop();
    }
    pool.undefine();
  }

  /** Soon, libvirt knows which files are in the pool; if there is no such pool, nothing happens. */
  synchronized void refresh(String name, String directory) {
    if (background == null) {
      background =
          new ScheduledThreadPoolExecutor(
              1, Thread.ofPlatform().daemon().name("pool-refresh").factory());
      background.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }
    var place = new Place(name, directory);
    if (waiting.add(place)) {
      var now = System.nanoTime();
      var rest = rested.getOrDefault(place, now) - now;
      var _ = background.schedule(() -> refreshNow(place), rest, TimeUnit.NANOSECONDS);
    }
  }

  private void refreshNow(Place place) {
    synchronized (this) {
      waiting.remove(place);
      rested.put(place, System.nanoTime() + REST.toNanos());
    }
    try {
      connections.use(libvirt -> refreshNow(libvirt, place.name(), place.directory()));
    } catch (LibvirtException | PlatterException _) {
      // No VM depends on it, and there is nobody to tell. The next change makes libvirt look again.
    }
  }

  private static boolean refreshNow(Libvirt libvirt, String name, String directory) {
    try (var pool = libvirt.pool(title(name)).orElse(null)) {
      if (pool != null
          && pool.uuid().equals(uuid(name, directory))
          && pool.isActive()
          && mayLook(directory)) {
        pool.refresh();
      }
      return true;
    }
  }

  /** Waits for what is under way, and does without a rest what is left. */
  @Override
  public void close() {
    ScheduledThreadPoolExecutor ending;
    synchronized (this) {
      ending = background;
      background = null;
    }
    if (ending != null) {
      ending.close();
      List<Place> left;
      synchronized (this) {
        left = List.copyOf(waiting);
      }
      left.forEach(this::refreshNow);
    }
  }
}
