package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.IdentityDisk;
import dev.platter.node.IdentityMoves;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Fetches disks that are to be here, and gives away those that are to be elsewhere.
 *
 * <p>A disk that came in full is said to be here by one change of the status, which the server
 * refuses if anything about the object has changed since <em>before</em> the disk was fetched. So a
 * source that was told to keep its disk, and whose VM wrote to it since, cannot be overruled by
 * somebody who has an older copy: that word came with a change of the object.
 */
final class IdentityMover implements MoveServer.Lender, AutoCloseable {
  /** More would get in each other's way, on the disk and on the link. */
  private static final int AT_ONCE = 2;

  /** How long an image may be missing until a disk comes with it. */
  static final Duration PATIENCE = Duration.ofMinutes(2);

  /** The other nodes. */
  interface Peers {
    /** Where a node gives its disks; empty if it does not say. */
    Optional<MoveSource> source(String node);

    /** Whose certificate this is. */
    Optional<String> nodeOf(String fingerprint);
  }

  private final IdentityKeeper.Objects objects;
  private final Peers peers;
  private final String node;
  private final IdentityMoves moves;
  private final Credentials credentials;
  private final Duration patience;
  private final Consumer<IdentityKey> again;
  private final Consumer<String> log;
  private final Set<IdentityKey> underWay = ConcurrentHashMap.newKeySet();
  private final Semaphore room = new Semaphore(AT_ONCE);
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  /**
   * @param patience usually {@link #PATIENCE}
   * @param again is told of identities that have to be looked at anew
   */
  IdentityMover(
      IdentityKeeper.Objects objects,
      Peers peers,
      String node,
      IdentityMoves moves,
      Credentials credentials,
      Duration patience,
      Consumer<IdentityKey> again,
      Consumer<String> log) {
    this.objects = objects;
    this.peers = peers;
    this.node = node;
    this.moves = moves;
    this.credentials = credentials;
    this.patience = patience;
    this.again = again;
    this.log = log;
  }

  IdentityMoves moves() {
    return moves;
  }

  /** Whether some of it may be here at any moment. */
  boolean isUnderWay(IdentityKey key) {
    return underWay.contains(key);
  }

  /**
   * Begins to fetch the disk, unless that was begun already; the object tells how it goes.
   *
   * @param logins for its image
   */
  void fetch(VmIdentity object, Identity identity, ImageLogins logins) {
    if (Conditions.find(IdentityStatus.of(object).conditions(), Condition.PLACED) == null) {
      // First, since each change of the object is a reason to begin anew.
      say(object, Reason.MOVING, "Its disk moves to " + node + ".");
    } else if (underWay.add(identity.key())) {
      var _ = threads.submit(() -> attempt(object, identity, logins));
    }
  }

  private void attempt(VmIdentity object, Identity identity, ImageLogins logins) {
    var from = String.valueOf(IdentityStatus.of(object).nodeName());
    try {
      room.acquire();
      try {
        var disk = moves.receive(identity, logins, source(from), credentials, patience);
        claim(object, disk);
        log.accept("identity " + identity.key() + ": its disk came from " + from + whole(disk));
      } finally {
        room.release();
      }
    } catch (PlatterException e) {
      failed(object, Session.reason(e), Session.message(e));
    } catch (IOException e) {
      var why = e.getMessage() == null ? e.toString() : e.getMessage();
      failed(
          object,
          Reason.UNAVAILABLE,
          "Its disk is on %s, which did not give it: %s. It moves when %s answers."
              .formatted(from, why, from));
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        log.accept("identity " + identity.key() + ": " + e.getMessage());
      }
      again.accept(identity.key());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      underWay.remove(identity.key());
    }
  }

  private MoveSource source(String from) {
    return peers
        .source(from)
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.UNAVAILABLE,
                    "its disk is on " + from + ", where no daemon says that it is ready",
                    "It moves when that node is back."));
  }

  private void claim(VmIdentity object, IdentityDisk disk) throws IOException {
    var before = IdentityStatus.of(object);
    objects.status(
        object,
        new IdentityStatus(
            before.creationTime(),
            true,
            node,
            disk.size(),
            conditions(object, null, "Its disk is on " + node + whole(disk) + "."),
            object.getMetadata().getGeneration()));
  }

  private static String whole(IdentityDisk disk) {
    return disk.isWhole() ? ", with its image in it, which could not be had" : "";
  }

  private void failed(VmIdentity object, Reason reason, String message) {
    var said = Conditions.find(IdentityStatus.of(object).conditions(), Condition.PLACED);
    if (said != null && message.equals(said.message())) {
      return;
    }
    try {
      say(object, reason, message);
    } catch (KubernetesClientException e) {
      log.accept("identity " + IdentityKeeper.key(object) + ": " + message);
    }
  }

  private void say(VmIdentity object, @Nullable Reason reason, String message) {
    var before = IdentityStatus.of(object);
    objects.status(
        object,
        new IdentityStatus(
            before.creationTime(),
            reason == null || before.ready(),
            before.nodeName(),
            before.size(),
            conditions(object, reason, message),
            before.observedGeneration()));
  }

  /** With a reason why it is not where it should be; with none it is here, as the message says. */
  private List<Condition> conditions(VmIdentity object, @Nullable Reason reason, String message) {
    var before = IdentityStatus.of(object).conditions();
    var said = new Conditions(before, object.getMetadata().getGeneration(), Instant.now());
    if (reason == null) {
      said.add(Condition.READY, true, Reason.READY, message);
    } else {
      said.add(Condition.PLACED, false, reason, message);
    }
    var out = new ArrayList<>(said.all());
    before.stream()
        .filter(other -> !other.type().equals(Condition.PLACED) && !said.has(other.type()))
        .forEach(out::add);
    return out;
  }

  /** The latest word is that it stays; so a copy that somebody has will never be its disk. */
  void keep(VmIdentity object) throws IOException {
    moves.keep(IdentityKeeper.key(object));
    var said = IdentityStatus.of(object).conditions();
    if (Conditions.find(said, Condition.PLACED) != null) {
      var ready = Conditions.find(said, Condition.READY);
      var before = ready == null || !ready.holds() ? null : ready.message();
      say(object, null, before == null ? "Its disk is on " + node + "." : before);
    }
  }

  /** To the node that is to have it, by the latest word of the API server, and to no other. */
  @Override
  public MoveServer.Loan lend(String peer, IdentityKey key, String uid, boolean whole)
      throws IOException {
    var found = now(key).filter(identity -> identity.getMetadata().getUid().equals(uid));
    if (found.isEmpty()
        || found.get().ends()
        || !node.equals(IdentityStatus.of(found.get()).nodeName())
        || !peer.equals(found.get().wantedNode())) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the disk of the identity %s is not to move from %s to %s".formatted(key, node, peer),
          "");
    }
    return moves.lend(key, uid, whole);
  }

  private Optional<VmIdentity> now(IdentityKey key) {
    try {
      return objects.identityNow(key);
    } catch (KubernetesClientException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, node + " cannot ask the API server", "It tries again.", e);
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
