package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.DataVolumePhase;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes of a DataVolume a claim of its name, and the {@code DiskImport} or {@code DiskUpload} that
 * fills it; {@link PopulateReconciler} does the rest, and what it says is said here in CDI's words.
 * Both belong to the DataVolume. What has the name and does not is never touched.
 *
 * <p>What the claim is filled from is made first: a claim that an upload is meant for and that
 * names nothing which is there would get a source of its own.
 */
final class DataVolumeReconciler implements ControlLoop.Work {
  private final DataVolumes volumes;
  private final Populations cluster;
  private final InstantSource clock;

  DataVolumeReconciler(DataVolumes volumes, Populations cluster, InstantSource clock) {
    this.volumes = volumes;
    this.cluster = cluster;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var volume = volumes.volume(key);
    if (volume == null || Owned.ends(volume)) {
      return null;
    }
    var state = look(volume);
    tell(volume, state);
    var status = state.status(volume, clock.instant());
    if (!status.equals(volume.said())) {
      volumes.status(volume, status);
    }
    return switch (state.phase()) {
      case SUCCEEDED, FAILED -> null;
      // Nobody tells when a name is free, a quota larger, or why a driver does nothing.
      default -> Population.LATER;
    };
  }

  private VolumeState look(DataVolume volume) {
    VolumeRequest request;
    try {
      request = VolumeRequest.read(volume);
    } catch (PlatterException e) {
      var why = (e.getMessage() + ". " + e.next()).strip();
      return VolumeState.of(DataVolumePhase.FAILED, Reason.ERR_CLAIM_NOT_VALID, why);
    }
    return Refusals.told(
        () -> look(request),
        why ->
            VolumeState.of(
                DataVolumePhase.PENDING, Reason.ERR_CLAIM_NOT_VALID, Refusals.message(why)));
  }

  private VolumeState look(VolumeRequest request) {
    var volume = request.volume();
    var key = request.sourceKey();
    var source = key == null ? null : cluster.source(key);
    var claim = claim(volume);
    if (claim != null && !Owned.by(volume, claim)) {
      return taken(claim);
    }
    // One that was made for the claim is as good.
    if (source != null
        && !Owned.by(volume, source)
        && (claim == null || !Owned.by(claim, source))) {
      return taken(source);
    }
    if (key != null && source == null) {
      request.source().ifPresent(cluster::create);
    }
    if (claim == null) {
      return make(request);
    }
    if (Owned.ends(claim)) {
      return VolumeState.of(
          DataVolumePhase.PENDING, Reason.WAITING_FOR_CLAIM, "The claim is being deleted.");
    }
    if (key == null) {
      return followed(request.origin(), claim);
    }
    var meta = claim.getMetadata();
    var said =
        source == null
            ? FilledClaim.of(meta.getName(), meta.getUid())
            : source.said().of(meta.getName(), meta.getUid());
    return VolumeState.filled(
        claim,
        said,
        cluster.pod(PrimeClaim.key(claim)),
        request.origin() instanceof VolumeOrigin.Upload);
  }

  /** Informers keep those alone that we fill, and may be late. */
  private @Nullable PersistentVolumeClaim claim(DataVolume volume) {
    var meta = volume.getMetadata();
    var known = cluster.claim(Owned.key(volume));
    return known != null ? known : cluster.claimNow(meta.getNamespace(), meta.getName());
  }

  private static VolumeState taken(HasMetadata object) {
    return VolumeState.of(
        DataVolumePhase.PENDING,
        Reason.NAME_TAKEN,
        "The %s %s is not the DataVolume's. Delete it, or give the DataVolume another name."
            .formatted(object.getKind(), object.getMetadata().getName()));
  }

  private VolumeState make(VolumeRequest request) {
    PersistentVolumeClaim copied = null;
    if (request.origin() instanceof VolumeOrigin.Claim from) {
      copied = cluster.claimNow(request.volume().getMetadata().getNamespace(), from.name());
      if (copied == null) {
        return VolumeState.of(
            DataVolumePhase.PENDING, Reason.NOT_FOUND, "There is no claim " + from.name() + ".");
      }
    }
    var claim = cluster.create(request.claim(copied));
    return VolumeState.of(
        DataVolumePhase.PENDING, claim, Reason.WAITING_FOR_VOLUME, "The claim was made.");
  }

  /** What becomes of a claim that Kubernetes and a driver make a volume for. */
  private VolumeState followed(VolumeOrigin origin, PersistentVolumeClaim claim) {
    if (PrimeClaim.isLost(claim)) {
      return VolumeState.of(
          DataVolumePhase.FAILED,
          claim,
          Reason.DISK_LOST,
          "The volume is gone, and the disk with it. Make the DataVolume anew.");
    }
    if (PrimeClaim.isBound(claim)) {
      return VolumeState.of(
          DataVolumePhase.SUCCEEDED, claim, Reason.READY, "The claim has its volume.");
    }
    var name = claim.getSpec().getStorageClassName();
    if (name == null) {
      return VolumeState.of(
          DataVolumePhase.PENDING,
          claim,
          Reason.NOT_FOUND,
          "The claim names no storage class, and the cluster has no default one.");
    }
    var waits =
        !name.isEmpty() // Then it waits for a volume that somebody makes.
            && PrimeClaim.selectedNode(claim) == null
            && cluster.volumeClass(name).filter(Storage.VolumeClass::waits).isPresent();
    if (waits) {
      return VolumeState.of(
          DataVolumePhase.WAIT_FOR_FIRST_CONSUMER,
          claim,
          Reason.WAITING_FOR_CONSUMER,
          Reason.WAITING_FOR_CONSUMER.sentence());
    }
    var phase =
        switch (origin) {
          case VolumeOrigin.Claim _ -> DataVolumePhase.CSI_CLONE_IN_PROGRESS;
          case VolumeOrigin.Snapshot _ -> DataVolumePhase.CLONE_FROM_SNAPSHOT_IN_PROGRESS;
          case VolumeOrigin.Blank _, VolumeOrigin.Upload _, VolumeOrigin.Import _ ->
              DataVolumePhase.PENDING;
        };
    return cluster
        .complaint(claim)
        .map(why -> VolumeState.of(phase, claim, Reason.PROVISIONING_FAILED, why))
        .orElseGet(
            () ->
                VolumeState.of(
                    phase, claim, Reason.WAITING_FOR_VOLUME, Reason.WAITING_FOR_VOLUME.sentence()));
  }

  /** What is wrong, once, and the end. */
  private void tell(DataVolume volume, VolumeState state) {
    var before = Optional.ofNullable(Conditions.find(volume.said().conditions(), Condition.READY));
    var done = state.phase() == DataVolumePhase.SUCCEEDED;
    var said =
        before
            .filter(it -> it.holds() == done)
            .filter(it -> state.reason().word().equals(it.reason()))
            .isPresent();
    if (!said && (done || !state.reason().isNormal())) {
      cluster.event(volume, done ? Reason.FILLED : state.reason(), state.message());
    }
  }
}
