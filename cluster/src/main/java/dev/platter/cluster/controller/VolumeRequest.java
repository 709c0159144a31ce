package dev.platter.cluster.controller;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.CdiNames;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.Names;
import dev.platter.node.ClaimSize;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.TypedObjectReference;
import io.fabric8.kubernetes.api.model.VolumeResourceRequirementsBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a DataVolume asks for, in our words: a claim, and what the claim is filled from. Both have
 * its name.
 *
 * <p>The claim is what {@code pvc} says. {@code storage} says how large the <em>disk</em> is to be,
 * so a claim with a file system is larger; and it may leave out what CDI would know of the storage
 * class: one node writes at a time, and the volume has a file system.
 *
 * @param format what comes; null for a disk, whose own bytes say it
 */
record VolumeRequest(
    DataVolume volume,
    VolumeOrigin origin,
    @Nullable String format,
    PersistentVolumeClaimSpec wanted) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SIZE = "storage";
  private static final String FILES = "Filesystem";

  /** No volume is larger, and there is room to count what its file system takes. */
  private static final long MOST_BYTES = 1L << 60;

  /** What CDI takes the class's own mode for. */
  private static final String ANY_MODE = "FromStorageProfile";

  /**
   * @throws dev.platter.model.PlatterException that says what is not done here
   */
  static VolumeRequest read(DataVolume volume) {
    var spec = new Written("spec", volume.getSpec().written());
    if (spec.has("checkpoints")) {
      throw spec.refused(
          ".checkpoints: Platter brings a disk in one step", "Give a source that stands alone.");
    }
    // A disk is always sparse, and the pod that fills it has no priority: both lose nothing.
    spec.hasNothingBut(
        "source",
        "sourceRef",
        "pvc",
        "storage",
        "contentType",
        "finalCheckpoint",
        "preallocation",
        "priorityClassName");
    var origin = VolumeOrigins.read(spec, volume.getMetadata().getNamespace());
    var archive = CdiNames.ARCHIVE.equals(spec.text("contentType"));
    if (archive && !origin.canBeArchive()) {
      throw spec.refused(
          ".contentType: an archive is sent, or comes from http or s3", "Leave contentType out.");
    }
    return new VolumeRequest(
        volume, origin, archive ? DiskSource.ARCHIVE : null, wanted(spec, origin));
  }

  private static PersistentVolumeClaimSpec wanted(Written spec, VolumeOrigin origin) {
    if (spec.has("pvc") == spec.has("storage")) {
      throw spec.refused(" has to have one of pvc and storage", "Write storage.");
    }
    var given = spec.of(spec.has("pvc") ? "pvc" : "storage");
    given.hasNothingBut("accessModes", "resources", "selector", "storageClassName", "volumeMode");
    PersistentVolumeClaimSpec out;
    try {
      out = JSON.treeToValue(given.node(), PersistentVolumeClaimSpec.class);
    } catch (JsonProcessingException e) {
      throw given.refused(" is no description of a claim", "See kubectl explain pvc.spec.");
    }
    var size = size(given, out);
    if (size == null && !(origin instanceof VolumeOrigin.Claim)) {
      throw given.refused(".resources.requests.storage is missing", "Write it, such as 10Gi.");
    }
    if (spec.has("storage")) {
      complete(out, size, origin);
    }
    return out;
  }

  private static @Nullable Long size(Written given, PersistentVolumeClaimSpec claim) {
    var asked =
        Optional.ofNullable(claim.getResources())
            .map(resources -> resources.getRequests())
            .map(requests -> requests.get(SIZE))
            .orElse(null);
    try {
      var size = asked == null ? null : Quantity.getAmountInBytes(asked).longValueExact();
      if (size == null || (size > 0 && size <= MOST_BYTES)) {
        return size;
      }
    } catch (IllegalArgumentException | ArithmeticException e) {
      // It is said below.
    }
    throw given.refused(".resources.requests.storage is no size", "Write one, such as 10Gi.");
  }

  private static void complete(
      PersistentVolumeClaimSpec out, @Nullable Long size, VolumeOrigin origin) {
    if (out.getAccessModes() == null || out.getAccessModes().isEmpty()) {
      out.setAccessModes(List.of("ReadWriteOnce"));
    }
    if (out.getVolumeMode() == null || out.getVolumeMode().equals(ANY_MODE)) {
      // A copy is of the mode that is copied, which is not known yet.
      out.setVolumeMode(origin instanceof VolumeOrigin.Claim ? null : FILES);
    }
    if (size != null && FILES.equals(out.getVolumeMode())) {
      resize(out, bytes(ClaimSize.forDisk(size)));
    }
  }

  private static Quantity bytes(long size) {
    return new Quantity(Long.toString(size));
  }

  private static void resize(PersistentVolumeClaimSpec out, Quantity size) {
    var resources =
        out.getResources() == null
            ? new VolumeResourceRequirementsBuilder()
            : new VolumeResourceRequirementsBuilder(out.getResources());
    out.setResources(resources.addToRequests(SIZE, size).build());
  }

  private boolean immediate() {
    return annotations().containsKey(CdiNames.IMMEDIATE);
  }

  private Map<String, String> annotations() {
    return Optional.ofNullable(volume.getMetadata().getAnnotations()).orElse(Map.of());
  }

  private String name() {
    return volume.getMetadata().getName();
  }

  /** Of what the claim is filled from; null if no pod writes its disk. */
  @Nullable SourceKey sourceKey() {
    var kind =
        switch (origin) {
          case VolumeOrigin.Upload _ -> DiskUpload.KIND;
          case VolumeOrigin.Import _ -> DiskImport.KIND;
          case VolumeOrigin.Blank _, VolumeOrigin.Claim _, VolumeOrigin.Snapshot _ -> null;
        };
    return kind == null
        ? null
        : new SourceKey(kind, volume.getMetadata().getNamespace(), volume.getMetadata().getName());
  }

  /** What the claim is filled from, if a pod writes its disk. */
  Optional<DiskSource> source() {
    var meta = Owned.metadata(volume, name()).build();
    return switch (origin) {
      case VolumeOrigin.Upload _ -> {
        var out = new DiskUpload();
        out.setMetadata(meta);
        out.setSpec(new DiskUpload.Spec(format, immediate() ? true : null));
        yield Optional.of(out);
      }
      case VolumeOrigin.Import wanted -> {
        var out = new DiskImport();
        out.setMetadata(meta);
        out.setSpec(new DiskImport.Spec(wanted.source(), null, format, immediate() ? true : null));
        yield Optional.of(out);
      }
      case VolumeOrigin.Blank _, VolumeOrigin.Claim _, VolumeOrigin.Snapshot _ -> Optional.empty();
    };
  }

  /**
   * @param copied the claim whose volume is copied, if that is the origin: what is left out is as
   *     it has it
   */
  PersistentVolumeClaim claim(@Nullable PersistentVolumeClaim copied) {
    var out =
        new PersistentVolumeClaimBuilder()
            .withMetadata(metadata())
            .withNewSpecLike(wanted)
            .endSpec()
            .build();
    var spec = out.getSpec();
    switch (origin) {
      case VolumeOrigin.Blank _ -> {}
      case VolumeOrigin.Upload _ -> from(spec, Names.GROUP, DiskUpload.KIND, name());
      case VolumeOrigin.Import _ -> from(spec, Names.GROUP, DiskImport.KIND, name());
      case VolumeOrigin.Snapshot from ->
          from(spec, SnapshotApi.GROUP, SnapshotApi.SNAPSHOT_KIND, from.name());
      case VolumeOrigin.Claim from -> from(spec, null, out.getKind(), from.name());
    }
    if (copied != null) {
      takeMode(spec, copied);
      if (spec.getResources() == null || spec.getResources().getRequests().get(SIZE) == null) {
        resize(spec, bytes(PrimeClaim.size(copied)));
      }
      if (spec.getStorageClassName() == null) {
        spec.setStorageClassName(copied.getSpec().getStorageClassName());
      }
    }
    return out;
  }

  /** Drivers copy a volume as what it is; then {@code storage} is about the disk on it. */
  private void takeMode(PersistentVolumeClaimSpec spec, PersistentVolumeClaim copied) {
    if (spec.getVolumeMode() != null) {
      return;
    }
    spec.setVolumeMode(PrimeClaim.isBlock(copied) ? "Block" : FILES);
    var asked = spec.getResources() == null ? null : spec.getResources().getRequests().get(SIZE);
    if (asked != null && !PrimeClaim.isBlock(copied) && volume.getSpec().written().has("storage")) {
      var disk = Quantity.getAmountInBytes(asked).longValueExact();
      resize(spec, bytes(ClaimSize.forDisk(disk)));
    }
  }

  private static void from(
      PersistentVolumeClaimSpec spec, @Nullable String group, String kind, String name) {
    spec.setDataSourceRef(new TypedObjectReference(group, kind, name, null));
  }

  /** Labels are the user's, but for ours, which say what is ours. */
  private ObjectMeta metadata() {
    var labels =
        new HashMap<>(Optional.ofNullable(volume.getMetadata().getLabels()).orElse(Map.of()));
    labels.keySet().removeIf(label -> label.startsWith(Names.GROUP + "/"));
    var out = Owned.metadata(volume, name()).withLabels(labels);
    if (origin instanceof VolumeOrigin.Upload) {
      out.addToAnnotations(CdiNames.UPLOAD_TARGET, "");
      if (format != null) {
        out.addToAnnotations(CdiNames.CONTENT_TYPE, CdiNames.ARCHIVE);
      }
      if (immediate()) {
        out.addToAnnotations(CdiNames.IMMEDIATE, "");
      }
      if ("true".equals(annotations().get(CdiNames.USE_POPULATOR))) {
        // What becomes of the upload is said of this claim itself.
        out.addToAnnotations(CdiNames.POPULATED_CLAIM, name());
      }
    }
    return out.build();
  }
}
