package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Quantity;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Identities whose disk is a claim. It is made from the snapshot of the image as soon as there is
 * one, and belongs to the identity: so it goes with it, though not while a pod uses it. A claim
 * that was there and is gone is not made anew: somebody's bytes were in it.
 */
final class VolumeIdentities {
  private static final Duration LATER = Duration.ofSeconds(15);

  /** Phases of claims that have one, or had. */
  private static final Set<String> HAS_VOLUME = Set.of("Bound", "Lost");

  private final Storage storage;
  private final InstantSource clock;

  VolumeIdentities(Storage storage, InstantSource clock) {
    this.storage = storage;
    this.clock = clock;
  }

  /**
   * @param claim the claim that is the disk, if there is one
   * @param again when to look again if nothing happens
   */
  private record Outcome(
      boolean ready,
      @Nullable PersistentVolumeClaim claim,
      Reason reason,
      String message,
      @Nullable Duration again) {
    static Outcome waiting(Reason reason, String message) {
      return new Outcome(false, null, reason, message, LATER);
    }
  }

  @Nullable Duration reconcile(VmIdentity identity) {
    if (identity.ends()) {
      letGo(identity);
      return null;
    }
    if (!identity.waitsForDisk()) {
      // Before there is a claim. The change brings it here again.
      storage.finalizers(identity, Finalizers.with(identity, Names.DISK_FINALIZER));
      return null;
    }
    Outcome outcome;
    try {
      var size = identity.read().spec().size();
      outcome =
          Refusals.told(
              () -> look(identity, size),
              e -> Outcome.waiting(Reason.REFUSED, Refusals.message(e)));
    } catch (PlatterException e) {
      var message = e.getMessage() + " " + String.join("; ", e.details());
      outcome = new Outcome(false, null, Reason.INVALID, message.strip(), null);
    }
    say(identity, outcome);
    return outcome.again();
  }

  /** The claim stays for as long as a pod uses it, and the identity for as long as the claim. */
  private void letGo(VmIdentity identity) {
    var claim = storage.claimNow(namespace(identity), claimName(identity));
    if (claim != null && Owned.by(identity, claim)) {
      if (!Owned.ends(claim)) {
        storage.delete(claim);
      }
    } else if (identity.waitsForDisk()) {
      storage.finalizers(identity, Finalizers.without(identity, Names.DISK_FINALIZER));
    }
  }

  private Outcome look(VmIdentity identity, @Nullable ByteSize size) {
    var name = claimName(identity);
    var claim = storage.claim(namespace(identity) + "/" + name);
    if (claim == null && IdentityStatus.of(identity).creationTime() != null) {
      claim = storage.claimNow(namespace(identity), name); // An informer may be behind.
      if (claim == null) {
        return Outcome.waiting(
            Reason.NOT_FOUND, "Its claim " + name + " was deleted, and its disk with it.");
      }
    }
    return claim == null ? make(identity, size) : state(identity, claim);
  }

  private Outcome make(VmIdentity identity, @Nullable ByteSize size) {
    var wanted = ImageUse.wanted(identity);
    var volumes = wanted == null ? className(null) : wanted;
    if (volumes == null) {
      return Outcome.waiting(
          Reason.NOT_FOUND,
          "The identity names no StorageClass, and the cluster has neither platter-local nor a"
              + " default one.");
    }
    var reference = ImageUse.image(identity);
    var name = VmImage.name(reference, volumes);
    var image = storage.image(namespace(identity) + "/" + name);
    if (image == null) {
      if (className(volumes) == null) {
        return Outcome.waiting(Reason.NOT_FOUND, "There is no StorageClass " + volumes + ".");
      }
      storage.create(VmImage.of(namespace(identity), reference, volumes));
      return Outcome.waiting(Reason.WAITING_FOR_IMAGE, Reason.WAITING_FOR_IMAGE.sentence());
    }
    var status = ImageStatus.of(image);
    var least = status.size();
    if (least != null && size != null && size.bytes() < least) {
      return Outcome.waiting(
          Reason.INVALID,
          "The identity has a size of %s, but its image needs %s. Make another, without a size or with a larger one."
              .formatted(size, ByteSize.of(least)));
    }
    if (!status.ready() || least == null || image.ends()) {
      return waitFor(image, status);
    }
    var other = storage.claimNow(namespace(identity), claimName(identity));
    if (other != null) {
      return state(identity, other);
    }
    storage.create(VolumeClaims.of(identity, image, size == null ? least : size.bytes()));
    return Outcome.waiting(Reason.WAITING_FOR_VOLUME, Reason.WAITING_FOR_VOLUME.sentence());
  }

  private @Nullable String className(@Nullable String wanted) {
    return storage.volumeClass(wanted).map(Storage.VolumeClass::name).orElse(null);
  }

  /** How far it is says the image alone: many identities may be waiting for it. */
  private static Outcome waitFor(VmImage image, ImageStatus status) {
    var said = Conditions.find(status.conditions(), Condition.READY);
    var name = "VirtletVMImage " + image.getMetadata().getName();
    return said == null || Reason.of(said.reason()).isNormal()
        ? Outcome.waiting(Reason.WAITING_FOR_IMAGE, "The " + name + " is not ready yet.")
        : Outcome.waiting(Reason.of(said.reason()), name + ": " + said.message());
  }

  private Outcome state(VmIdentity identity, PersistentVolumeClaim claim) {
    var name = claim.getMetadata().getName();
    if (!Owned.by(identity, claim)) {
      return Outcome.waiting(
          Reason.NAME_TAKEN,
          "The PersistentVolumeClaim %s is somebody else's. Delete it, or make another identity."
              .formatted(name));
    }
    return Owned.ends(claim)
        ? Outcome.waiting(Reason.NOT_FOUND, "Its claim " + name + " is being deleted.")
        : withoutSnapshot(identity, claim).orElseGet(() -> state(claim));
  }

  /**
   * Until the claim has a volume it needs the snapshot, which goes with the image; that may have
   * gone since the claim was made, and is imported again.
   */
  private Optional<Outcome> withoutSnapshot(VmIdentity identity, PersistentVolumeClaim claim) {
    var volumes = claim.getSpec().getStorageClassName();
    if (volumes == null || HAS_VOLUME.contains(phase(claim))) {
      return Optional.empty();
    }
    var reference = ImageUse.image(identity);
    var image = storage.image(namespace(identity) + "/" + VmImage.name(reference, volumes));
    if (image == null) {
      storage.create(VmImage.of(namespace(identity), reference, volumes));
    } else if (ImageStatus.of(image).ready() && !image.ends()) {
      return Optional.empty();
    }
    var sentence = Reason.WAITING_FOR_IMAGE.sentence();
    return Optional.of(new Outcome(false, claim, Reason.WAITING_FOR_IMAGE, sentence, null));
  }

  private Outcome state(PersistentVolumeClaim claim) {
    var name = claim.getMetadata().getName();
    return switch (phase(claim)) {
      case "Bound" ->
          new Outcome(true, claim, Reason.READY, "Its disk is the claim " + name + ".", null);
      case "Lost" ->
          new Outcome(
              false,
              claim,
              Reason.NOT_FOUND,
              "The volume of its claim " + name + " is gone.",
              null);
      default ->
          storage
                  .volumeClass(claim.getSpec().getStorageClassName())
                  .filter(Storage.VolumeClass::waits)
                  .isPresent()
              ? new Outcome(
                  true,
                  claim,
                  Reason.READY,
                  "Its disk will be the claim " + name + ", when a pod uses it.",
                  null)
              : pending(claim);
    };
  }

  private static String phase(PersistentVolumeClaim claim) {
    return claim.getStatus() == null ? "" : String.valueOf(claim.getStatus().getPhase());
  }

  private Outcome pending(PersistentVolumeClaim claim) {
    return storage
        .complaint(claim)
        .map(said -> new Outcome(false, claim, Reason.PROVISIONING_FAILED, said, LATER))
        .orElse(
            new Outcome(
                false,
                claim,
                Reason.WAITING_FOR_VOLUME,
                "Its claim " + claim.getMetadata().getName() + " has no volume yet.",
                LATER));
  }

  private void say(VmIdentity identity, Outcome outcome) {
    var before = IdentityStatus.of(identity);
    var generation = identity.getMetadata().getGeneration();
    var claim = outcome.claim();
    var status =
        new IdentityStatus(
            outcome.ready() && before.creationTime() == null && claim != null
                ? claim.getMetadata().getCreationTimestamp()
                : before.creationTime(),
            outcome.ready(),
            null,
            claim == null ? before.size() : size(claim),
            new Conditions(before.conditions(), generation, clock.instant())
                .add(Condition.READY, outcome.ready(), outcome.reason(), outcome.message())
                .keepOthers()
                .all(),
            generation,
            claim == null ? before.claimName() : claim.getMetadata().getName());
    if (!status.equals(identity.getStatus())) {
      storage.status(identity, status);
    }
  }

  private static @Nullable Long size(PersistentVolumeClaim claim) {
    var capacity = claim.getStatus() == null ? null : claim.getStatus().getCapacity();
    Quantity size = capacity == null ? null : capacity.get("storage");
    return size == null ? null : size.getNumericalAmount().longValue();
  }

  private static String namespace(VmIdentity identity) {
    return identity.getMetadata().getNamespace();
  }

  private static String claimName(VmIdentity identity) {
    return VmIdentity.claimName(identity.getMetadata().getName());
  }
}
