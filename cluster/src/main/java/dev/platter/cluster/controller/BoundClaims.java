package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Population.Look;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Claims that have their volume: the one that was filled for them, or another one. A volume that
 * began as an image may still have the rest of it to come.
 */
final class BoundClaims {
  private final Populations cluster;
  private final Remains remains;

  BoundClaims(Populations cluster, Remains remains) {
    this.cluster = cluster;
    this.remains = remains;
  }

  /**
   * The claim has a volume, for good. First it is said what the claim has, then goes what is left
   * of the filling.
   */
  Look look(ClaimSource source, PersistentVolumeClaim claim, FilledClaim before) {
    var name = claim.getSpec().getVolumeName();
    if (PrimeClaim.isLost(claim)) {
      remains.clear(claim);
      return notOurs(
          before,
          Reason.DISK_LOST,
          "The volume %s is gone, and the disk with it. Make the claim anew.".formatted(name));
    }
    if (before.phase() == FillPhase.FILLED) {
      remains.clear(claim);
      return new Look(before.withPod(null, before.progress()), null);
    }
    var volume = cluster.volume(name);
    var digest = volume == null ? null : PrimeClaim.filled(volume);
    if (digest == null) {
      remains.clear(claim);
      return notOurs(
          before,
          Reason.BOUND_ELSEWHERE,
          "The claim has the volume %s, which was not filled from here.".formatted(name));
    }
    if (!PrimeClaim.isBound(claim)) {
      return new Look(before, Population.SOON);
    }
    var rest = rest(source, claim, digest, before.withDigest(digest));
    if (rest != null) {
      return rest;
    }
    return new Look(
        before
            .withPod(before.pod(), "100%")
            .withDigest(digest.isEmpty() ? null : digest)
            .withoutRetry()
            .at(FillPhase.FILLED, Reason.FILLED, Reason.FILLED.sentence()),
        Duration.ZERO);
  }

  /** Has a pod see to the rest of the image that the claim's volume began as, if one can. */
  private String stay(ClaimSource source, PersistentVolumeClaim claim, String digest) {
    var node = PrimeClaim.selectedNode(claim);
    if (node == null || !(source instanceof DiskImport disk) || !DrawPod.isPossible(disk, claim)) {
      return "The rest of the image comes if the node needs no login for it: the object, which was"
          + " changed, does not say where it is any more.";
    }
    cluster.create(DrawPod.stay(disk, claim, SourceKey.of(source), node, digest));
    return "The pod that sees to it comes anew.";
  }

  /**
   * A volume that began as an image can be used while the rest of it is fetched. Until the node has
   * all of the image there is a pod for it; null if it has, or nobody knows of one.
   */
  private @Nullable Look rest(
      ClaimSource source, PersistentVolumeClaim claim, String digest, FilledClaim before) {
    var pod = cluster.pod(PrimeClaim.key(claim));
    if (pod == null ? !isDrawn(before) : !DrawPod.is(pod) || FillerPod.succeeded(pod)) {
      return null;
    }
    remains.remove(claim, cluster.claim(PrimeClaim.key(claim)));
    var now = before.withPod(PrimeClaim.name(claim), null).withoutRetry();
    if (pod == null) {
      return new Look(
          now.at(FillPhase.FILLING, Reason.DRAWING, stay(source, claim, digest)), Population.LATER);
    }
    if (FillerPod.failed(pod)) {
      remains.remove(claim, pod);
      var why = FillPod.result(pod).message();
      return new Look(
          now.at(FillPhase.FILLING, Reason.DRAWING, why + " The pod that sees to it comes anew."),
          Population.LATER);
    }
    var said = FillerPod.says(pod);
    var message = said.reason() == Reason.DRAWING ? " " + said.message() : "";
    return new Look(
        now.at(FillPhase.FILLING, Reason.DRAWING, Reason.DRAWING.sentence() + message),
        Population.LATER);
  }

  private static boolean isDrawn(FilledClaim before) {
    return before.phase() == FillPhase.FILLING && Reason.DRAWING.word().equals(before.reason());
  }

  /** Whatever becomes of the claim, it is not filled. */
  private static Look notOurs(FilledClaim before, Reason reason, String message) {
    return new Look(
        before.withPod(null, null).withoutRetry().at(FillPhase.WAITING, reason, message), null);
  }
}
