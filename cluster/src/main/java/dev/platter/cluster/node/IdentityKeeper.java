package dev.platter.cluster.node;

import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.IdentityDisk;
import dev.platter.node.IdentityDisks;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes and removes the disks of the identities that this node has to have. A disk is made first
 * and then said to be here, by one change of the object's status that the server refuses if
 * anything about the object has changed: the disk that the status names is the only one that
 * counts, and whoever made another removes it.
 *
 * <p>The object need not wait for a disk that is as its image is: should it vanish, the disk goes
 * when that is seen. Before a VM writes to it, it gets the finalizer.
 *
 * <p>Most changes that a node hears of are another's business, or its own. Those cost no look at
 * the disk: what is here is remembered, and now and then looked up.
 */
final class IdentityKeeper {
  /** What the API server has, and what it is told. */
  interface Objects {
    /** As an informer knows it. */
    Optional<VmIdentity> identity(IdentityKey key);

    /** As it is now; fails if the server does not answer. */
    Optional<VmIdentity> identityNow(IdentityKey key);

    /** The nodes that can have disks. */
    Collection<String> nodes();

    /** Refused by the server if this is not its latest version. */
    void status(VmIdentity identity, IdentityStatus status);

    /** Refused by the server if this is not its latest version. */
    void finalizers(VmIdentity identity, List<String> finalizers);
  }

  /** The launcher pods of this node. */
  interface Pods {
    /** Whether one of them names it. */
    boolean want(IdentityKey identity);

    /**
     * What the registry of its image is told, by the pod that names it if there is one; fails with
     * a {@link NoSuchFileException} if that is not here yet.
     */
    ImageLogins logins(IdentityKey identity) throws IOException;
  }

  /** Who lets it look at identities again. */
  interface Later {
    /** As soon as may be. */
    void add(IdentityKey key);

    /** With all that are here, now and then. */
    void addToSweep(IdentityKey key);
  }

  private final Objects objects;
  private final String node;
  private final IdentityDisks disks;
  private final IdentityMover mover;
  private final Pods pods;
  private final IdentityReports reports;
  private final IdentityMaking making;
  private final Consumer<String> log;

  /** The UIDs of identities that have something here, or had when it was last looked at. */
  private final Map<IdentityKey, String> here = new ConcurrentHashMap<>();

  /**
   * @param later is told of identities that have to be looked at, when that is known
   * @param patience after which an image that is not here yet is left to itself
   */
  IdentityKeeper(
      Objects objects,
      String node,
      IdentityDisks disks,
      IdentityMover mover,
      Pods pods,
      Later later,
      Duration patience,
      Consumer<String> log) {
    this.objects = objects;
    this.node = node;
    this.disks = disks;
    this.mover = mover;
    this.pods = pods;
    this.reports = new IdentityReports(objects, node, log);
    this.making =
        new IdentityMaking(
            disks,
            pods,
            reports,
            made -> here.put(key(made), made.getMetadata().getUid()),
            later,
            patience,
            log);
    this.log = log;
  }

  /** What this node has of an identity. */
  private record Held(IdentityDisk disk, IdentityHold hold) {}

  /**
   * Looks at these identities, and at those that have a disk here if all is true.
   *
   * @return those that have to be looked at again after a while
   */
  Set<IdentityKey> look(Collection<IdentityKey> keys, boolean all) throws IOException {
    var nodes = objects.nodes();
    var looked = new LinkedHashSet<IdentityKey>(keys);
    if (!all) {
      looked.removeIf(key -> isSettled(key, nodes));
    }
    var held = all ? held() : held(looked);
    looked.addAll(held.keySet());
    if (all) {
      looked.addAll(here.keySet()); // To forget those that went.
    }
    var again = new LinkedHashSet<IdentityKey>();
    var make = new ArrayList<VmIdentity>();
    for (var key : looked) {
      try {
        if (!look(key, held.get(key), nodes, make)) {
          again.add(key);
        }
      } catch (KubernetesClientException e) {
        again.add(key); // Nothing is known, or somebody was faster.
      } catch (PlatterException e) {
        again.add(key);
        log.accept("identity " + key + ": " + e.getMessage());
      }
    }
    again.addAll(making.make(make));
    return again;
  }

  /** Whether nothing has to be done, whatever the records here may say. */
  private boolean isSettled(IdentityKey key, Collection<String> nodes) {
    var known = objects.identity(key);
    var uid = here.get(key);
    if (uid == null) {
      return known.isEmpty() || duty(known.get(), IdentityHold.NONE, nodes) == IdentityDuty.NOTHING;
    }
    return known.isPresent()
        && uid.equals(known.get().getMetadata().getUid())
        && duty(known.get(), IdentityHold.READY, nodes) == IdentityDuty.NOTHING
        && disks.isReady(key);
  }

  private Map<IdentityKey, Held> held() throws IOException {
    var out = new HashMap<IdentityKey, Held>();
    for (var disk : mover.moves().coming()) {
      out.put(disk.identity().key(), new Held(disk, IdentityHold.COMING));
    }
    var leaving = mover.moves().leaving();
    for (var disk : disks.list()) {
      var key = disk.identity().key();
      var hold = leaving.contains(key) ? IdentityHold.LEAVING : IdentityHold.READY;
      out.put(key, new Held(disk, hold));
    }
    return out;
  }

  /** The same for some, whatever else there is. */
  private Map<IdentityKey, Held> held(Collection<IdentityKey> keys) throws IOException {
    var out = new HashMap<IdentityKey, Held>();
    for (var key : keys) {
      var coming = mover.moves().coming(key);
      var whole = disks.find(key);
      if (whole.isPresent()) {
        var hold = disks.isUsable(key) ? IdentityHold.READY : IdentityHold.LEAVING;
        out.put(key, new Held(whole.get(), hold));
      } else {
        coming.ifPresent(disk -> out.put(key, new Held(disk, IdentityHold.COMING)));
      }
    }
    return out;
  }

  /**
   * @return whether there is nothing to do but to wait for changes
   */
  private boolean look(
      IdentityKey key, @Nullable Held held, Collection<String> nodes, List<VmIdentity> make)
      throws IOException {
    remember(key, held);
    var hold = held == null ? IdentityHold.NONE : held.hold();
    var known = objects.identity(key);
    if (held != null && known.filter(it -> isOf(held.disk(), it)).isEmpty()) {
      known = objects.identityNow(key); // An informer may be behind; a disk is not removed by that.
      if (known.filter(it -> isOf(held.disk(), it)).isEmpty()) {
        drop(key, hold);
        log.accept("identity " + key + " is gone, and its disk with it");
        hold = IdentityHold.NONE; // There may be another of its name.
      }
    }
    if (known.isPresent() && duty(known.get(), hold, nodes).isFinal()) {
      known = objects.identityNow(key);
    }
    if (known.isEmpty()) {
      return true;
    }
    var identity = known.get();
    switch (duty(identity, hold, nodes)) {
      case NOTHING -> {}
      case MAKE -> make.add(identity);
      case FETCH -> {
        here.put(key, identity.getMetadata().getUid());
        fetch(identity);
        return false;
      }
      case ARRIVE -> mover.moves().arrived(key);
      case KEEP -> mover.keep(identity);
      case PIN -> objects.finalizers(identity, Finalizers.with(identity, Names.DISK_FINALIZER));
      case DROP -> drop(key, hold);
      case END -> {
        drop(key, hold);
        release(identity);
      }
      case MISS -> {
        // Between two looks it may have been on its way from one record to another.
        if (disks.find(key).isEmpty()) {
          reports.missed(identity);
        }
      }
      case FOUND -> {
        return held != null && reports.made(identity, held.disk());
      }
    }
    return true;
  }

  /** A disk that is on its way may be here in a moment. */
  private void remember(IdentityKey key, @Nullable Held held) {
    if (held != null) {
      here.put(key, String.valueOf(held.disk().identity().uid()));
    } else if (!mover.isUnderWay(key)) {
      here.remove(key);
    }
  }

  private void fetch(VmIdentity identity) throws IOException {
    try {
      mover.fetch(identity, identity.read(), pods.logins(key(identity)));
    } catch (NoSuchFileException e) {
      // The kubelet mounts them, and then the pod's launcher calls.
    }
  }

  private IdentityDuty duty(VmIdentity identity, IdentityHold hold, Collection<String> nodes) {
    return IdentityDuty.of(identity, hold, node, nodes, () -> pods.want(key(identity)));
  }

  private void drop(IdentityKey key, IdentityHold hold) throws IOException {
    if (hold == IdentityHold.COMING) {
      mover.moves().abandon(key);
    } else {
      disks.remove(key);
    }
  }

  private static boolean isOf(IdentityDisk disk, VmIdentity identity) {
    return identity.getMetadata().getUid().equals(disk.identity().uid());
  }

  private void release(VmIdentity identity) {
    if (identity.waitsForDisk()) {
      objects.finalizers(identity, Finalizers.without(identity, Names.DISK_FINALIZER));
    }
  }

  static IdentityKey key(VmIdentity identity) {
    return new IdentityKey(identity.getMetadata().getNamespace(), identity.getMetadata().getName());
  }
}
