package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Storage.Snapshot;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Brings an image into a storage class, one small thing at a time: a pod looks up its size, a claim
 * of that size is made, a pod fills it, and when that pod is gone, and the device with it, a
 * snapshot is taken. Then the claim goes. Each look begins with what there is, so it does not
 * matter who did what when, or how often the controller was killed; what was made belongs to the
 * image's object and goes with it.
 *
 * <p>Snapshots are looked at now and then while one is being made: a cluster may not know the kind,
 * so there is no watch on it.
 */
final class ImageReconciler implements ControlLoop.Work {
  private static final Duration SOON = Duration.ofSeconds(1);

  /** When only somebody else can help. */
  private static final Duration LATER = Duration.ofSeconds(15);

  private final Storage storage;
  private final ImageUse use;
  private final Duration grace;
  private final InstantSource clock;

  /**
   * @param grace how long an image stays that nobody wants
   */
  ImageReconciler(Storage storage, Duration grace, InstantSource clock) {
    this.storage = storage;
    this.use = new ImageUse(storage);
    this.grace = grace;
    this.clock = clock;
  }

  /**
   * What came of a look.
   *
   * @param again when to look again if nothing happens
   */
  private record Outcome(
      ImageStatus status, boolean ready, Reason reason, String message, @Nullable Duration again) {}

  @Override
  public @Nullable Duration reconcile(String key) {
    var image = storage.image(key);
    if (image == null || image.ends()) {
      return null;
    }
    if (!use.isUsed(image)) {
      return leave(image);
    }
    var before = ImageStatus.of(image).withUnusedSince(null);
    var outcome = Refusals.told(() -> look(image, before), why -> refused(before, why));
    say(image, outcome);
    return outcome.again();
  }

  private @Nullable Duration leave(VmImage image) {
    var status = ImageStatus.of(image);
    var since = status.unusedSince();
    var now = clock.instant();
    if (since == null) {
      var text = now.truncatedTo(ChronoUnit.SECONDS).toString();
      say(
          image,
          new Outcome(
              status.withUnusedSince(text),
              status.ready(),
              Reason.UNUSED,
              Reason.UNUSED.sentence(),
              null));
      return grace;
    }
    var left = Duration.between(now, Instant.parse(since).plus(grace));
    if (left.isPositive()) {
      return left;
    }
    storage.delete(image);
    return null;
  }

  private Outcome look(VmImage image, ImageStatus status) {
    var name = image.getMetadata().getName();
    var snapshot = storage.snapshot(image.getMetadata().getNamespace(), name).orElse(null);
    if (snapshot != null && !image.getMetadata().getUid().equals(snapshot.owner())) {
      return taken(status, "VolumeSnapshot " + name);
    }
    if (snapshot != null && snapshot.ready()) {
      return done(image, status, snapshot);
    }
    var volumes = storage.volumeClass(image.storageClass());
    if (volumes.isEmpty()) {
      return new Outcome(
          status,
          false,
          Reason.NOT_FOUND,
          "There is no StorageClass " + image.storageClass() + ".",
          LATER);
    }
    return switch (storage.snapshotClass(volumes.get().driver())) {
      case SnapshotClass.None none ->
          new Outcome(status, false, Reason.NO_SNAPSHOTS, none.why(), LATER);
      case SnapshotClass.Found found ->
          proceed(image, status, snapshot, volumes.get(), found.name());
    };
  }

  private Outcome proceed(
      VmImage image,
      ImageStatus status,
      @Nullable Snapshot snapshot,
      VolumeClass volumes,
      String snapshotClass) {
    var size = status.size();
    if (size == null) {
      return measure(image, status);
    }
    remove(image, filler(image, FillerPod.SIZE));
    var claim = storage.claim(Owned.key(image));
    if (claim == null) {
      return makeClaim(image, status, size);
    }
    if (!Owned.by(image, claim)) {
      return taken(status, "PersistentVolumeClaim " + claim.getMetadata().getName());
    }
    if (Owned.ends(claim)) {
      return importing(status, "The claim of an earlier attempt goes first.");
    }
    var pod = filler(image, FillerPod.FILL);
    if (!claim.getMetadata().getUid().equals(status.filledClaim())) {
      return fill(image, status, claim, pod, volumes);
    }
    if (pod != null) {
      remove(image, pod);
      return importing(status, "The image is written, and the volume is being let go.");
    }
    if (snapshot == null) {
      storage.createSnapshot(image, claim.getMetadata().getName(), snapshotClass);
    }
    var problem = snapshot == null ? null : snapshot.problem();
    return problem == null
        ? new Outcome(status, false, Reason.IMPORTING, "Its snapshot is being made.", SOON)
        : new Outcome(status, false, Reason.SNAPSHOT_FAILED, problem, LATER);
  }

  private Outcome measure(VmImage image, ImageStatus status) {
    var pod = filler(image, FillerPod.SIZE);
    if (pod == null) {
      storage.create(FillerPod.size(image));
      return importing(status, "Its size is being looked up.");
    }
    var size = FillerPod.sizeOf(pod);
    return size == null
        ? work(image, status, pod, image)
        : importing(status.withSize(size), "A claim is made for it.");
  }

  private Outcome makeClaim(VmImage image, ImageStatus status, long size) {
    var meta = image.getMetadata();
    var other = storage.claimNow(meta.getNamespace(), meta.getName());
    if (other != null && !Owned.by(image, other)) {
      return taken(status, "PersistentVolumeClaim " + meta.getName());
    }
    if (other == null) {
      storage.create(VolumeClaims.of(image, size));
    }
    return importing(status, "A claim is made for it.");
  }

  private Outcome fill(
      VmImage image,
      ImageStatus status,
      PersistentVolumeClaim claim,
      @Nullable Pod pod,
      VolumeClass volumes) {
    if (pod == null) {
      storage.create(FillerPod.fill(image, claim));
      return importing(status, "It is going to be written to the claim.");
    }
    if (!FillerPod.isFor(pod, claim)) {
      remove(image, pod);
      return importing(status, "The pod of an earlier attempt goes first.");
    }
    if (FillerPod.succeeded(pod)) {
      var node = volumes.onNodes() ? pod.getSpec().getNodeName() : null;
      return importing(
          status.withFilledClaim(claim.getMetadata().getUid(), node), "The image is written.");
    }
    var complaint =
        "Pending".equals(claim.getStatus().getPhase())
            ? storage.complaint(claim).orElse(null)
            : null;
    return complaint == null
        ? work(image, status, pod, claim)
        : new Outcome(status, false, Reason.PROVISIONING_FAILED, complaint, LATER);
  }

  /**
   * What a pod that is at work says of itself.
   *
   * @param cause what the first such pod was made for
   */
  private Outcome work(VmImage image, ImageStatus status, Pod pod, HasMetadata cause) {
    if (FillerPod.failed(pod)) {
      remove(image, pod);
      return importing(
          status, "The pod " + pod.getMetadata().getName() + " failed; another comes.");
    }
    var begun = Instant.parse(cause.getMetadata().getCreationTimestamp());
    if (FillerPod.isStuck(pod, begun, clock.instant())) {
      remove(image, pod);
      return importing(
          status, "The pod " + pod.getMetadata().getName() + " does not start; another comes.");
    }
    var said = FillerPod.says(pod);
    return new Outcome(status, false, said.reason(), said.message(), LATER);
  }

  private Outcome done(VmImage image, ImageStatus status, Snapshot snapshot) {
    remove(image, filler(image, FillerPod.SIZE));
    remove(image, filler(image, FillerPod.FILL));
    remove(image, storage.claim(Owned.key(image)));
    var size = status.size() == null ? 0 : status.size();
    var least = snapshot.size() == null ? size : Math.max(size, snapshot.size());
    return new Outcome(
        status.withSize(least), true, Reason.READY, "Claims can be made from its snapshot.", null);
  }

  private static Outcome importing(ImageStatus status, String message) {
    return new Outcome(status, false, Reason.IMPORTING, message, LATER);
  }

  private static Outcome taken(ImageStatus status, String what) {
    return new Outcome(
        status,
        false,
        Reason.NAME_TAKEN,
        "The " + what + " is somebody else's. Delete it, and the image is imported.",
        LATER);
  }

  private static Outcome refused(ImageStatus status, KubernetesClientException why) {
    return new Outcome(status, false, Reason.REFUSED, Refusals.message(why), LATER);
  }

  private @Nullable Pod filler(VmImage image, String suffix) {
    return storage.filler(Owned.key(image) + suffix);
  }

  /** What is not the image's stays, whatever its name. */
  private void remove(VmImage image, @Nullable HasMetadata object) {
    if (object != null && Owned.by(image, object) && !Owned.ends(object)) {
      storage.delete(object);
    }
  }

  private void say(VmImage image, Outcome outcome) {
    var generation = image.getMetadata().getGeneration();
    var said =
        new Conditions(outcome.status().conditions(), generation, clock.instant())
            .add(Condition.READY, outcome.ready(), outcome.reason(), outcome.message())
            .all();
    var status = outcome.status().withReady(outcome.ready(), said, generation);
    if (!status.equals(image.getStatus())) {
      storage.status(image, status);
    }
  }
}
