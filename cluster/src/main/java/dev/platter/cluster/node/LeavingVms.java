package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Status;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Journey;
import dev.platter.node.Migrated;
import dev.platter.node.move.Credentials;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Moves VMs of this node to others, as migrations say whose pods over there are ready, and says how
 * that went. A daemon that was killed on the way begins anew, unless the VM has left by then.
 */
final class LeavingVms {
  /** More would only keep each of them on its way for longer. */
  private static final int AT_ONCE = 2;

  /** The migrations of the cluster. */
  interface Migrations {
    List<VirtualMachineMigration> all();

    void status(VirtualMachineMigration migration, Status status);
  }

  private final Migrations migrations;
  private final IdentityMover.Peers peers;
  private final String node;
  private final PodVms vms;
  private final Api api;
  private final Credentials credentials;
  private final Consumer<String> log;
  private final Semaphore room = new Semaphore(AT_ONCE, true);
  private final Map<String, Thread> underWay = new ConcurrentHashMap<>();

  LeavingVms(
      Migrations migrations,
      IdentityMover.Peers peers,
      String node,
      PodVms vms,
      Api api,
      Credentials credentials,
      Consumer<String> log) {
    this.migrations = migrations;
    this.peers = peers;
    this.node = node;
    this.vms = vms;
    this.api = api;
    this.credentials = credentials;
    this.log = log;
  }

  private static VmKey key(VirtualMachineMigration migration) {
    return new VmKey(migration.getMetadata().getNamespace(), migration.getSpec().vm());
  }

  /** A migration has changed, or was not looked at for a while. */
  void look(VirtualMachineMigration migration) {
    var status = migration.said();
    if (!node.equals(status.sourceNode()) || status.phase() != MigrationPhase.MOVING) {
      return;
    }
    var uid = migration.getMetadata().getUid();
    var mover =
        underWay.computeIfAbsent(
            uid, _ -> Thread.ofVirtual().name("migration " + uid).unstarted(() -> move(migration)));
    if (mover.getState() == Thread.State.NEW) {
      start(mover);
    } else if (migration.cancelled()) {
      mover.interrupt();
    }
  }

  private static synchronized void start(Thread mover) {
    if (mover.getState() == Thread.State.NEW) {
      mover.start();
    }
  }

  /** Also what earlier daemons left, and what could not be settled at once. */
  void sweep() {
    try {
      for (var key : vms.node().unsettled()) {
        vms.node()
            .settleIfIdle(
                key, e -> log.accept(key + ": its move is not settled: " + e.getMessage()));
        vms.forgetIfIdle(key);
      }
    } catch (IOException e) {
      log.accept("the records of moves cannot be read: " + e);
    }
    migrations.all().forEach(this::look);
  }

  private void move(VirtualMachineMigration migration) {
    var key = key(migration);
    try {
      end(migration, attempt(migration, key));
    } catch (KubernetesClientException e) {
      log.accept(key + ": its migration cannot be reported: " + e.getMessage());
    } finally {
      underWay.remove(migration.getMetadata().getUid());
    }
  }

  /** How it ended; null if that is not known. */
  private @Nullable Status attempt(VirtualMachineMigration migration, VmKey key) {
    try {
      if (hasLeft(key)) {
        return left(migration, key);
      }
      if (migration.cancelled()) {
        return failed(migration, Reason.CANCELLED, Reason.CANCELLED.sentence());
      }
      room.acquire();
      try {
        var migrated = vms.leave(key, journey(migration));
        log.accept("%s: moved to %s: %s".formatted(key, migration.said().targetNode(), migrated));
        return succeeded(migration, migrated);
      } finally {
        room.release();
      }
    } catch (InterruptedException e) {
      return failed(migration, Reason.CANCELLED, Reason.CANCELLED.sentence());
    } catch (PlatterException e) {
      return after(migration, key, Session.reason(e), Session.message(e));
    } catch (IOException e) {
      var why = e.getMessage() == null ? e.toString() : e.getMessage();
      return after(migration, key, Reason.UNAVAILABLE, "The move was cut off: " + why);
    } catch (KubernetesClientException e) {
      throw e; // How it ended is not known.
    } catch (RuntimeException e) {
      // It would be the same again and again.
      return after(migration, key, Reason.INTERNAL, "A bug in Platter: " + e);
    }
  }

  /** Fails if nobody is there who could take the VM. */
  Journey journey(VirtualMachineMigration migration) {
    var to = String.valueOf(migration.said().targetNode());
    var peer =
        peers
            .source(to)
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.UNAVAILABLE,
                        "the daemon of " + to + " does not say where it is",
                        "Look at the pods of platter-node: one must be ready there."));
    var limit = migration.getSpec().completionTimeoutPerGiB();
    return new Journey(
        migration.move(),
        to,
        peer,
        credentials,
        limit == null ? Journey.PER_GIB : Duration.ofSeconds(limit));
  }

  /** Whatever went wrong, the VM may have left; and nothing is said before that is settled. */
  private @Nullable Status after(
      VirtualMachineMigration migration, VmKey key, Reason reason, String message) {
    var interrupted = Thread.interrupted();
    log.accept(key + ": " + message);
    try {
      if (vms.node().unsettled().contains(key)) {
        return null;
      }
      if (hasLeft(key)) {
        return left(migration, key);
      }
    } catch (IOException | KubernetesClientException e) {
      log.accept(key + ": " + e.getMessage());
      return null;
    }
    return interrupted
        ? failed(migration, Reason.CANCELLED, Reason.CANCELLED.sentence())
        : failed(migration, reason, message);
  }

  private boolean hasLeft(VmKey key) {
    return api.vm(key.namespace(), key.name()).filter(vm -> !node.equals(vm.node())).isPresent();
  }

  /** It may also have been started anew elsewhere, while this node was thought to be lost. */
  private Status left(VirtualMachineMigration migration, VmKey key) {
    var target = VirtualMachineMigration.podName(key.name(), migration.move());
    return api.vm(key.namespace(), key.name()).filter(vm -> target.equals(vm.movedTo())).isPresent()
        ? succeeded(migration, null)
        : failed(migration, Reason.NODE_LOST, "The VM was started anew elsewhere.");
  }

  private static Status succeeded(VirtualMachineMigration migration, @Nullable Migrated migrated) {
    var was = migration.said();
    var ended =
        was.at(
            MigrationPhase.SUCCEEDED,
            conditions(migration, true, Reason.MOVED, "The VM runs on " + was.targetNode() + "."));
    return migrated == null
        ? ended
        : ended.took(migrated.downtime(), migrated.memory(), migrated.disks());
  }

  private static Status failed(VirtualMachineMigration migration, Reason reason, String message) {
    return migration
        .said()
        .at(MigrationPhase.FAILED, conditions(migration, false, reason, message));
  }

  private static List<Condition> conditions(
      VirtualMachineMigration migration, boolean complete, Reason reason, String message) {
    return new Conditions(
            migration.said().conditions(), migration.getMetadata().getGeneration(), Instant.now())
        .add(Condition.COMPLETE, complete, reason, message)
        .all();
  }

  /** By the latest version: it may have been deleted meanwhile, and has to hear it all the same. */
  private void end(VirtualMachineMigration migration, @Nullable Status status) {
    if (status != null) {
      migrations.status(migration, status);
    }
  }
}
