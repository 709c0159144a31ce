package dev.platter.cluster.controller;

import dev.platter.cluster.api.CdiNames;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FilledClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A claim whose disk a client of CDI is going to send. The webhook lets it name a {@code
 * DiskUpload} that nobody has made, so that is made for it; and the client waits for annotations
 * that tell of the pod.
 *
 * <p>They say that the pod has succeeded when the claim has its disk, and not before: the client
 * says so to its user, who is going to use the claim.
 */
final class CdiClaim {
  private static final String RUNNING = "Running";
  private static final String SUCCEEDED = "Succeeded";

  private CdiClaim() {}

  static boolean isMeant(PersistentVolumeClaim claim) {
    return annotations(claim).containsKey(CdiNames.UPLOAD_TARGET);
  }

  private static Map<String, String> annotations(PersistentVolumeClaim claim) {
    return Optional.ofNullable(claim.getMetadata().getAnnotations()).orElse(Map.of());
  }

  /** What the webhook let it name; it goes with the claim. */
  static DiskUpload source(PersistentVolumeClaim claim) {
    var out = new DiskUpload();
    out.setMetadata(Owned.metadata(claim, claim.getMetadata().getName()).build());
    var said = annotations(claim);
    var archive = CdiNames.ARCHIVE.equals(said.get(CdiNames.CONTENT_TYPE));
    out.setSpec(
        new DiskUpload.Spec(
            archive ? DiskSource.ARCHIVE : null,
            said.containsKey(CdiNames.IMMEDIATE) ? true : null));
    return out;
  }

  /** The annotations that the claim has to have and does not. */
  static Map<String, String> news(
      PersistentVolumeClaim claim, FilledClaim said, @Nullable Pod pod) {
    var out = new HashMap<String, String>();
    var filled = said.phase() == FillPhase.FILLED;
    if (filled || pod != null) {
      out.put(CdiNames.POD_PHASE, filled ? SUCCEEDED : phase(pod));
    }
    var ready = !filled && pod != null && SourcePods.ready(pod);
    out.put(CdiNames.POD_READY, Boolean.toString(ready));
    out.entrySet().removeAll(annotations(claim).entrySet());
    return out;
  }

  private static String phase(@Nullable Pod pod) {
    var phase = pod == null || pod.getStatus() == null ? null : pod.getStatus().getPhase();
    return phase == null ? "Pending" : phase.equals(SUCCEEDED) ? RUNNING : phase;
  }
}
