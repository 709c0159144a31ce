package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.dialect.Manifests;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.IdentityDisk;
import dev.platter.node.IdentityDisks;
import dev.platter.node.IdentityDisks.Outcome;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.nio.file.NoSuchFileException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

/**
 * Makes and removes the disks of the identities that this node has to have. A disk is made first
 * and then said to be here, by one change of the object's status that the server refuses if
 * anything about the object has changed: the disk that the status names is the only one that
 * counts, and whoever made another removes it.
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

  /** What the registries of images are told. */
  interface Logins {
    /**
     * Those of the pod that names it, if there is one here; fails with a {@link
     * NoSuchFileException} if they are not here yet.
     */
    ImageLogins of(IdentityKey identity) throws IOException;
  }

  /** Status changes that are under way at once. */
  private static final int AT_ONCE = 16;

  private final Objects objects;
  private final String node;
  private final IdentityDisks disks;
  private final IdentityMover mover;
  private final Logins logins;
  private final Consumer<String> log;

  IdentityKeeper(
      Objects objects,
      String node,
      IdentityDisks disks,
      IdentityMover mover,
      Logins logins,
      Consumer<String> log) {
    this.objects = objects;
    this.node = node;
    this.disks = disks;
    this.mover = mover;
    this.logins = logins;
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
    var here = all ? held() : held(keys);
    var looked = new LinkedHashSet<>(keys);
    looked.addAll(here.keySet());
    var again = new LinkedHashSet<IdentityKey>();
    var make = new ArrayList<VmIdentity>();
    for (var key : looked) {
      try {
        if (!look(key, Optional.ofNullable(here.get(key)), make)) {
          again.add(key);
        }
      } catch (KubernetesClientException e) {
        again.add(key); // Nothing is known, or somebody was faster.
      } catch (PlatterException e) {
        again.add(key);
        log.accept("identity " + key + ": " + e.getMessage());
      }
    }
    again.addAll(make(make));
    return again;
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
  private boolean look(IdentityKey key, Optional<Held> held, List<VmIdentity> make)
      throws IOException {
    var hold = held.map(Held::hold).orElse(IdentityHold.NONE);
    var known = objects.identity(key);
    if (held.isPresent() && known.filter(it -> isOf(held.get().disk(), it)).isEmpty()) {
      known = objects.identityNow(key); // An informer may be behind; a disk is not removed by that.
      if (known.filter(it -> isOf(held.get().disk(), it)).isEmpty()) {
        drop(key, hold);
        log.accept("identity " + key + " is gone, and its disk with it");
        return true;
      }
    }
    if (known.isPresent() && duty(known.get(), hold).isFinal()) {
      known = objects.identityNow(key);
    }
    if (known.isEmpty()) {
      return true;
    }
    var identity = known.get();
    switch (duty(identity, hold)) {
      case NOTHING -> {}
      case MAKE -> make.add(identity);
      case FETCH -> {
        fetch(identity);
        return false;
      }
      case ARRIVE -> mover.moves().arrived(key);
      case KEEP -> mover.keep(identity);
      case DROP -> drop(key, hold);
      case END -> {
        drop(key, hold);
        release(identity);
      }
      case MISS ->
          objects.status(
              identity,
              status(
                  identity, false, Reason.NOT_FOUND, "Its disk is not on " + node + " any more."));
    }
    return true;
  }

  private void fetch(VmIdentity identity) throws IOException {
    try {
      mover.fetch(identity, read(identity), logins.of(key(identity)));
    } catch (NoSuchFileException e) {
      // The kubelet mounts them, and then the pod's launcher calls.
    }
  }

  private IdentityDuty duty(VmIdentity identity, IdentityHold hold) {
    return IdentityDuty.of(identity, hold, node, objects.nodes());
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
    if (identity.getMetadata().getFinalizers().contains(Names.DISK_FINALIZER)) {
      objects.finalizers(identity, Finalizers.without(identity, Names.DISK_FINALIZER));
    }
  }

  private Set<IdentityKey> make(List<VmIdentity> wanted) throws IOException {
    if (wanted.isEmpty()) {
      return Set.of();
    }
    var again = ConcurrentHashMap.<IdentityKey>newKeySet();
    var byKey = new HashMap<IdentityKey, VmIdentity>();
    var read = new HashMap<ImageLogins, List<Identity>>();
    for (var object : wanted) {
      var key = key(object);
      byKey.put(key, object);
      try {
        read.computeIfAbsent(logins.of(key), _ -> new ArrayList<>()).add(read(object));
      } catch (NoSuchFileException e) {
        again.add(key); // The kubelet mounts them, and then the pod's launcher calls.
      } catch (PlatterException e) {
        failed(object, e, again);
      }
    }
    var outcomes = new ArrayList<Outcome>();
    for (var group : read.entrySet()) {
      outcomes.addAll(disks.ensure(group.getValue(), group.getKey()));
    }
    var room = new Semaphore(AT_ONCE);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (var outcome : outcomes) {
        var object = byKey.get(outcome.identity().key());
        if (object == null) {
          continue;
        }
        room.acquireUninterruptibly();
        var _ =
            threads.submit(
                () -> {
                  try {
                    switch (outcome) {
                      case Outcome.Ready ready -> made(object, ready.disk(), again);
                      case Outcome.Failed failed -> failed(object, failed.why(), again);
                    }
                  } finally {
                    room.release();
                  }
                });
      }
    }
    return again;
  }

  static IdentityKey key(VmIdentity identity) {
    return new IdentityKey(identity.getMetadata().getNamespace(), identity.getMetadata().getName());
  }

  static Identity read(VmIdentity object) {
    var name = object.getMetadata().getName();
    var read = Manifests.objects("identity " + name, Serialization.asJson(object));
    return java.util.Objects.requireNonNull(read.identities().identities().get(key(object)));
  }

  private void made(VmIdentity object, IdentityDisk disk, Set<IdentityKey> again) {
    try {
      objects.status(
          object,
          new IdentityStatus(
              disk.made().toString(),
              true,
              node,
              disk.size(),
              conditions(object, true, Reason.READY, "Its disk is on " + node + "."),
              object.getMetadata().getGeneration()));
    } catch (KubernetesClientException e) {
      again.add(key(object)); // Then the disk is somebody else's to have, or the object is gone.
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT
          && e.getCode() != HttpURLConnection.HTTP_NOT_FOUND) {
        log.accept("identity " + key(object) + ": " + e.getMessage());
      }
    } catch (IOException e) {
      again.add(key(object));
      log.accept("identity " + key(object) + ": " + e);
    }
  }

  private void failed(VmIdentity object, PlatterException why, Set<IdentityKey> again) {
    again.add(key(object));
    var message = why.getMessage() + (why.next().isEmpty() ? "" : " " + why.next());
    var status = status(object, false, Session.reason(why), message);
    try {
      if (!status.equals(object.getStatus())) {
        objects.status(object, status);
      }
    } catch (KubernetesClientException e) {
      log.accept("identity " + key(object) + ": " + message);
    }
  }

  /** As it is, but for what is said. */
  private static IdentityStatus status(
      VmIdentity object, boolean ready, Reason reason, String message) {
    var before = IdentityStatus.of(object);
    return new IdentityStatus(
        before.creationTime(),
        ready,
        before.nodeName(),
        before.size(),
        conditions(object, ready, reason, message),
        object.getMetadata().getGeneration());
  }

  private static List<Condition> conditions(
      VmIdentity object, boolean ready, Reason reason, String message) {
    var before = IdentityStatus.of(object).conditions();
    var out =
        new ArrayList<>(
            new Conditions(before, object.getMetadata().getGeneration(), Instant.now())
                .add(Condition.READY, ready, reason, message)
                .all());
    before.stream().filter(other -> !other.type().equals(Condition.READY)).forEach(out::add);
    return out;
  }

  /** What keeps a VM from the disk; empty if nothing does. */
  Optional<String> obstacle(IdentityKey key) {
    var found = objects.identity(key);
    if (found.isEmpty()) {
      return Optional.of("There is no VirtletVMIdentity " + key.name() + " yet.");
    }
    var status = IdentityStatus.of(found.get());
    if (found.get().ends()) {
      return Optional.of("The VirtletVMIdentity " + key.name() + " is being deleted.");
    }
    if (node.equals(status.nodeName()) && isUsable(key)) {
      return Optional.empty(); // Whatever else is said: nobody can take it away from now on.
    }
    if (!status.ready()) {
      var condition = Conditions.find(status.conditions(), Condition.READY);
      return Optional.of(
          "The VirtletVMIdentity "
              + key.name()
              + " is not ready."
              + (condition == null || condition.message() == null
                  ? ""
                  : " " + condition.message()));
    }
    if (!found.get().local()) {
      return Optional.empty();
    }
    var move = Conditions.find(status.conditions(), Condition.PLACED);
    return Optional.of(
        "The disk of the VirtletVMIdentity %s is on %s, and is to be brought to %s.%s"
            .formatted(
                key.name(),
                status.nodeName(),
                java.util.Objects.requireNonNullElse(found.get().wantedNode(), node),
                move == null || move.message() == null ? "" : " " + move.message()));
  }

  private boolean isUsable(IdentityKey key) {
    try {
      return disks.isUsable(key);
    } catch (IOException e) {
      return false;
    }
  }
}
