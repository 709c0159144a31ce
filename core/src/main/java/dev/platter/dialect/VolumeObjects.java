package dev.platter.dialect;

import dev.platter.model.Claim;
import dev.platter.model.SecretData;
import dev.platter.model.Volume;
import dev.platter.model.Volumes;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code kind: PersistentVolumeClaim} and {@code PersistentVolume}, as a cluster prints them:
 * fields that no disk depends on are passed over.
 */
final class VolumeObjects {
  private static final Map<String, Boolean> BLOCK = Map.of("Block", true, "Filesystem", false);
  private static final Map<String, Claim.Mode> MODES =
      Arrays.stream(Claim.Mode.values())
          .collect(Collectors.toMap(Claim.Mode::word, Function.identity()));

  private static final String REFILL = "[\\x21-\\x7e]{1,128}";

  private VolumeObjects() {}

  static Objects claim(Fields fields) {
    var before = fields.problemCount();
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : name(metadata, "my-claim");
    var namespace = metadata == null ? null : metadata.text("namespace");
    var spec = fields.requiredFields("spec");
    if (metadata == null || name == null || spec == null) {
      return Objects.NONE;
    }
    var volume = spec.text("volumeName");
    var block = spec.word("volumeMode", BLOCK);
    var modes = modes(spec);
    var storageClass = spec.text("storageClassName");
    var resources = spec.fields("resources");
    var requests = resources == null ? null : resources.fields("requests");
    var size = requests == null ? null : requests.size("storage");
    var annotations = metadata.fields("annotations");
    var refill = annotations == null ? null : annotations.text(Claim.REFILL);
    var fillRecord = annotations == null ? null : annotations.text(Claim.FILL_RECORD);
    if (annotations != null && refill != null && !refill.matches(REFILL)) {
      annotations.problem(Claim.REFILL, "expected 1 to 128 visible ASCII characters");
    }
    if (fields.problemCount() > before) {
      return Objects.NONE;
    }
    if (size == null) {
      spec.problem("the claim does not say its size: resources.requests.storage is missing");
      return Objects.NONE;
    }
    return Objects.of(
        Volumes.of(
            new Claim(
                namespace == null ? VmObjects.DEFAULT_NAMESPACE : namespace,
                name,
                volume == null || volume.isEmpty() ? null : volume,
                block != null && block,
                modes,
                size,
                storageClass == null ? "" : storageClass,
                refill == null ? "" : refill,
                fillRecord == null ? "" : fillRecord)));
  }

  static Objects volume(Fields fields) {
    var before = fields.problemCount();
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : name(metadata, "my-volume");
    var spec = fields.requiredFields("spec");
    if (name == null || spec == null) {
      return Objects.NONE;
    }
    var block = spec.word("volumeMode", BLOCK);
    var claim = claimRef(spec);
    var found = VolumeStorage.read(spec, name);
    var offer = offer(spec);
    if (found == null || fields.problemCount() > before) {
      return Objects.NONE;
    }
    var volume =
        new Volume(
            name,
            claim,
            block != null && block,
            found.fsType(),
            found.readOnly(),
            found.storage(),
            found.partition(),
            offer);
    return Objects.of(found.secrets()).with(Objects.of(Volumes.of(volume)));
  }

  private static Volume.Offer offer(Fields spec) {
    var capacity = spec.fields("capacity");
    var storageClass = spec.text("storageClassName");
    return new Volume.Offer(
        capacity == null ? null : capacity.size("storage"),
        modes(spec),
        storageClass == null ? "" : storageClass);
  }

  private static @Nullable String name(Fields metadata, String example) {
    var name = metadata.requiredText("name", example);
    if (name != null && !Names.valid(name)) {
      metadata.problem("name", Names.complaint(name));
      return null;
    }
    return name;
  }

  private static @Nullable String claimRef(Fields spec) {
    var claim = spec.fields("claimRef");
    if (claim == null) {
      return null;
    }
    var name = name(claim, "my-claim");
    var namespace = claim.text("namespace");
    return (namespace == null ? VmObjects.DEFAULT_NAMESPACE : namespace) + "/" + name;
  }

  private static Set<Claim.Mode> modes(Fields spec) {
    var out = EnumSet.noneOf(Claim.Mode.class);
    for (var word : spec.texts("accessModes")) {
      var mode = MODES.get(word);
      if (mode == null) {
        spec.problem(
            "accessModes",
            "there is no access mode '" + word + "'" + Suggestion.among(word, MODES.keySet()));
      } else {
        out.add(mode);
      }
    }
    return out;
  }

  /**
   * What a volume's manifest says of its storage.
   *
   * @param secrets what stands in the volume itself and would be better in a Secret
   */
  record Found(
      Volume.Storage storage,
      @Nullable String fsType,
      boolean readOnly,
      SecretData secrets,
      @Nullable Integer partition) {}
}
