package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Storage.VolumeClass;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Fills one claim, as volume populators do: another claim, the prime one, gets a volume like the
 * one that the claim wants; a pod writes the disk to it and ends, or the driver has made the volume
 * from a snapshot and no pod is needed ({@link Ways}); then the volume is given to the claim. So a
 * claim that is bound is filled, and nobody ever sees half a disk.
 *
 * <p>Each look begins with what there is, so it does not matter how often the controller was
 * killed. An attempt is one pod and one prime claim, which says whose it is: where one of them is
 * without the other, or the pod has failed, both go, and what was half written goes with its
 * volume. Both belong to the claim and go when it goes. A pod that succeeded stays until the claim
 * has the volume, since it is what says that the disk is whole; then the volume itself says so.
 */
final class Population {
  static final Duration SOON = Duration.ofSeconds(2);

  /** When only somebody else can help, of whom informers do not tell. */
  static final Duration LATER = Duration.ofSeconds(15);

  private static final Duration FIRST_RETRY = Duration.ofSeconds(5);
  private static final Duration LAST_RETRY = Duration.ofMinutes(5);
  private static final int MOST_DOUBLINGS = 10;
  private static final String LEFT = "What is left of an earlier attempt goes first.";

  private final Populations cluster;
  private final Originals originals;
  private final Remains remains;
  private final BoundClaims bound;
  private final Ways ways;
  private final Supplier<FillPod.Program> program;
  private final PodsAtWork atWork;
  private final InstantSource clock;

  /**
   * @param uploads who signs the certificates of pods that take disks; null if each pod has an
   *     authority of its own, and nobody else knows it
   */
  Population(
      Populations cluster,
      Originals originals,
      Remains remains,
      Supplier<FillPod.Program> program,
      @Nullable Supplier<Authority> uploads,
      InstantSource clock) {
    this.cluster = cluster;
    this.originals = originals;
    this.remains = remains;
    this.bound = new BoundClaims(cluster, remains);
    this.ways = new Ways(cluster, originals);
    this.program = program;
    this.atWork = new PodsAtWork(cluster, uploads);
    this.clock = clock;
  }

  /**
   * What came of a look.
   *
   * @param again when to look again if nothing happens
   * @param atWork a pod that can say how far it is, which {@link PodsAtWork#heard} is then told
   */
  record Look(FilledClaim claim, @Nullable Duration again, @Nullable Pod atWork) {
    Look(FilledClaim claim, @Nullable Duration again) {
      this(claim, again, null);
    }
  }

  static Look refused(FilledClaim before, String why) {
    return new Look(before.at(FillPhase.WAITING, Reason.REFUSED, why), LATER);
  }

  Look look(ClaimSource source, PersistentVolumeClaim claim, FilledClaim before) {
    if (claim.getSpec().getVolumeName() != null) {
      return bound.look(source, claim, before);
    }
    if (PrimeClaim.foreignNamespace(claim).isPresent()) {
      return waiting(
          before,
          Reason.UNSUPPORTED,
          "A claim is filled by what is in its own namespace; leave out dataSourceRef.namespace.");
    }
    var prime = cluster.claim(PrimeClaim.key(claim));
    var pod = cluster.pod(PrimeClaim.key(claim));
    if (Stream.of(prime, pod).anyMatch(it -> it != null && !Owned.by(claim, it))) {
      return waiting(
          before,
          Reason.NAME_TAKEN,
          PrimeClaim.name(claim) + " is somebody else's. Delete it, and the claim is filled.");
    }
    if (Stream.of(prime, pod).anyMatch(it -> it != null && Owned.ends(it))) {
      return before.phase() == FillPhase.RETRYING ? new Look(before, SOON) : filling(before, LEFT);
    }
    if (prime == null && pod == null) {
      return begin(source, claim, before);
    }
    if (prime != null && PrimeClaim.isCopy(prime)) {
      return copied(source, claim, prime, before);
    }
    if (prime == null || pod == null) {
      return halved(claim, before);
    }
    if (!PrimeClaim.isFor(prime, pod)) {
      remains.clear(claim);
      return filling(before, LEFT);
    }
    if (FillerPod.succeeded(pod) || (DrawPod.hasBegun(pod) && PrimeClaim.isBound(prime))) {
      return hand(source, claim, prime, pod, before);
    }
    if (!FillPod.isCurrent(pod, source)) {
      remains.clear(claim);
      return filling(before.withoutRetry(), "What it is filled from has changed; it begins anew.");
    }
    if (FillerPod.failed(pod)) {
      var result = FillPod.result(pod);
      return failed(claim, Reason.of(result.reason()), result.message(), before);
    }
    if (PrimeClaim.hasLostItsNode(prime)) {
      return withoutNode(claim, prime, before);
    }
    var work = atWork.follow(source, prime, pod, before);
    return DrawPod.is(pod) ? new Look(work.claim(), SOON) : work;
  }

  /** The driver has no room for it there. */
  private Look withoutNode(
      PersistentVolumeClaim claim, PersistentVolumeClaim prime, FilledClaim before) {
    var why = cluster.complaint(prime).orElseGet(Reason.PROVISIONING_FAILED::sentence);
    return failed(claim, Reason.PROVISIONING_FAILED, why, before);
  }

  /** What the claim names cannot be had: nothing is begun for it, and what was begun goes. */
  Look withheld(ClaimSource source, Way.Wait why, PersistentVolumeClaim claim, FilledClaim before) {
    if (claim.getSpec().getVolumeName() != null) {
      return bound.look(source, claim, before);
    }
    remains.clear(claim);
    return waiting(before.withPod(null, null).withoutRetry(), why.reason(), why.message());
  }

  private Look begin(ClaimSource source, PersistentVolumeClaim claim, FilledClaim before) {
    var left = untilRetry(before);
    if (left.isPositive() && source.observed()) {
      return new Look(before, left);
    }
    var storageClass = claim.getSpec().getStorageClassName();
    if (storageClass == null) {
      return waiting(
          before,
          Reason.NOT_FOUND,
          "The claim names no storage class, and the cluster has no default one.");
    }
    var volumes = storageClass.isEmpty() ? null : cluster.volumeClass(storageClass).orElse(null);
    if (volumes == null && !storageClass.isEmpty()) {
      return waiting(before, Reason.NOT_FOUND, "There is no StorageClass " + storageClass + ".");
    }
    return Refusals.told(
        () -> make(source, claim, volumes, before),
        why -> retrying(before, Reason.REFUSED, Refusals.message(why)));
  }

  /** The pod comes first: where it is refused no volume is made. */
  private Look make(
      ClaimSource source,
      PersistentVolumeClaim claim,
      @Nullable VolumeClass volumes,
      FilledClaim before) {
    var key = SourceKey.of(source);
    var blank = before.withPod(null, null).withoutRetry().withDigest(null);
    return switch (ways.of(source, claim, volumes, before.attempts() != null)) {
      case Way.Wait wait ->
          new Look(
              before.at(FillPhase.WAITING, wait.reason(), wait.message()),
              wait.reason() == Reason.WAITING_FOR_CONSUMER ? null : LATER);
      case Way.Copy copy -> {
        cluster.create(PrimeClaim.of(claim, key, copy));
        yield filling(blank, "A volume is made for it from a snapshot.");
      }
      case Way.Draw draw -> {
        var node = Objects.requireNonNull(PrimeClaim.selectedNode(claim));
        var pod = cluster.create(DrawPod.draw(draw.disk(), claim, key, node));
        cluster.create(PrimeClaim.of(claim, key, pod, node));
        yield filling(
            blank.withPod(pod.getMetadata().getName(), null),
            "A volume is made for it, and the image is looked up.");
      }
      case Way.Write write -> {
        var told = program.get();
        var obstacle = told.obstacle();
        if (obstacle.isPresent()) {
          yield waiting(before, obstacle.get().reason(), obstacle.get().message());
        }
        var pod = cluster.create(FillPod.of(write.disk(), claim, told, key));
        cluster.create(PrimeClaim.of(claim, key, pod));
        yield filling(blank.withPod(pod.getMetadata().getName(), null), "A volume is made for it.");
      }
    };
  }

  /** A volume that a driver makes from a snapshot is whole when it is there. */
  private Look copied(
      ClaimSource source,
      PersistentVolumeClaim claim,
      PersistentVolumeClaim prime,
      FilledClaim before) {
    if (prime.getSpec().getVolumeName() != null) {
      return hand(source, claim, prime, null, before);
    }
    if (!ways.hasSnapshot(source, prime)) {
      remains.clear(claim);
      return filling(before.withoutRetry(), "What it was to be made from is gone; it begins anew.");
    }
    if (PrimeClaim.hasLostItsNode(prime)) {
      return withoutNode(claim, prime, before);
    }
    var complaint = cluster.complaint(prime).orElse(null);
    return complaint == null
        ? filling(before, "A volume is made for it from a snapshot.")
        : new Look(before.at(FillPhase.FILLING, Reason.PROVISIONING_FAILED, complaint), LATER);
  }

  private Duration untilRetry(FilledClaim before) {
    var at = before.retryAt();
    return at == null ? Duration.ZERO : Duration.between(clock.instant(), Instant.parse(at));
  }

  /** One without the other is of an attempt that was cut short; an informer may be late, though. */
  private Look halved(PersistentVolumeClaim claim, FilledClaim before) {
    var namespace = claim.getMetadata().getNamespace();
    var prime = cluster.claimNow(namespace, PrimeClaim.name(claim));
    var pod = cluster.podNow(namespace, PrimeClaim.name(claim));
    if (prime != null && pod != null) {
      return new Look(before, SOON);
    }
    if (pod == null && prime != null && has(claim, prime)) {
      return new Look(before, SOON);
    }
    remains.remove(claim, pod);
    remains.remove(claim, prime);
    return before.phase() == FillPhase.RETRYING ? new Look(before, SOON) : filling(before, LEFT);
  }

  /** Whether the volume has been given to the claim. */
  private boolean has(PersistentVolumeClaim claim, PersistentVolumeClaim prime) {
    var name = prime.getSpec().getVolumeName();
    var volume = name == null ? null : cluster.volume(name);
    var owner = volume == null ? null : volume.getSpec().getClaimRef();
    return owner != null && claim.getMetadata().getUid().equals(owner.getUid());
  }

  /** Of what is on the volume; null if nobody knows. */
  private static @Nullable String digest(PersistentVolumeClaim prime, @Nullable Pod pod) {
    if (DrawPod.is(pod)) {
      return DrawPod.digest(Objects.requireNonNull(pod));
    }
    return pod == null ? PrimeClaim.digest(prime) : FillPod.result(pod).digest();
  }

  /** The disk is whole: its volume is the claim's from now on. */
  private Look hand(
      ClaimSource source,
      PersistentVolumeClaim claim,
      PersistentVolumeClaim prime,
      @Nullable Pod pod,
      FilledClaim before) {
    var name = prime.getSpec().getVolumeName();
    var volume = name == null ? null : cluster.volume(name);
    var owner = volume == null ? null : volume.getSpec().getClaimRef();
    if (volume == null || owner == null || PrimeClaim.isGivenUp(volume)) {
      remains.clear(claim);
      return filling(before, "The volume is gone; it begins anew.");
    }
    if (prime.getMetadata().getUid().equals(owner.getUid())) {
      if (pod != null
          && !DrawPod.is(pod)
          && source instanceof DiskImport disk
          && !originals.keep(disk, claim, prime, pod)) {
        return filling(before, "The disk is written; its snapshot is made, for other claims.");
      }
      cluster.bind(volume, claim, Optional.ofNullable(digest(prime, pod)));
    } else if (!claim.getMetadata().getUid().equals(owner.getUid())) {
      remains.clear(claim);
      return filling(before, "The volume is another claim's; it begins anew.");
    }
    return new Look(
        before
            .withDigest(digest(prime, pod))
            .withPod(before.pod(), DrawPod.is(pod) ? null : "100%")
            .at(FillPhase.FILLING, Reason.FILLING, "The disk is there; the claim gets it."),
        SOON);
  }

  /** First it is said when the next attempt is, then what is there of this one goes. */
  private Look failed(
      PersistentVolumeClaim claim, Reason reason, String message, FilledClaim before) {
    if (before.phase() == FillPhase.RETRYING && before.retryAt() != null) {
      remains.clear(claim);
      return new Look(before.withPod(null, null), SOON);
    }
    return retrying(before, reason, message);
  }

  private Look retrying(FilledClaim before, Reason reason, String message) {
    var times = Math.min(before.attempts() == null ? 0 : before.attempts(), MOST_DOUBLINGS);
    var pause = FIRST_RETRY.multipliedBy(1L << times);
    var at = clock.instant().plus(pause.compareTo(LAST_RETRY) > 0 ? LAST_RETRY : pause);
    return new Look(
        before
            .withFailure(at.truncatedTo(ChronoUnit.SECONDS).toString())
            .at(FillPhase.RETRYING, reason, message),
        Duration.ZERO);
  }

  private static Look filling(FilledClaim before, String message) {
    return new Look(before.at(FillPhase.FILLING, Reason.FILLING, message), SOON);
  }

  private static Look waiting(FilledClaim before, Reason reason, String message) {
    return new Look(before.at(FillPhase.WAITING, reason, message), LATER);
  }
}
