package dev.platter.dialect;

import dev.platter.model.Identities;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySet;
import dev.platter.model.IdentitySpec;
import dev.platter.model.IdentitySpec.UuidPolicy;
import java.util.Arrays;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads {@code kind: VirtletVMIdentitySet} and {@code VirtletVMIdentity}. */
final class IdentityObjects {
  static final String VERSION = "virtlet.k8s/v1";

  private static final Pattern PINNED = Pattern.compile(".+@sha256:[0-9a-f]{64}");
  private static final Map<String, IdentitySpec.Type> TYPES =
      Arrays.stream(IdentitySpec.Type.values())
          .collect(Collectors.toMap(IdentitySpec.Type::word, Function.identity()));
  private static final Map<String, UuidPolicy> POLICIES =
      Arrays.stream(UuidPolicy.values())
          .collect(Collectors.toMap(UuidPolicy::word, Function.identity()));

  private IdentityObjects() {}

  static Objects set(Fields fields) {
    var before = fields.problemCount();
    var metadata = fields.requiredFields("metadata");
    var key = metadata == null ? null : key(metadata, "my-identities");
    var spec = fields.requiredFields("spec");
    fields.ignore("status");
    fields.done();
    if (spec == null || key == null) {
      return Objects.NONE;
    }
    var read = spec(spec);
    spec.ignore("autoStart", "template"); // a cluster's
    spec.done();
    return read == null || fields.problemCount() > before
        ? Objects.NONE
        : Objects.of(Identities.of(new IdentitySet(key, read)));
  }

  static Objects identity(Fields fields) {
    var before = fields.problemCount();
    var metadata = fields.requiredFields("metadata");
    var spec = fields.requiredFields("spec");
    fields.ignore("status");
    fields.done();
    var read = metadata == null || spec == null ? null : identity(metadata, spec);
    return read == null || fields.problemCount() > before
        ? Objects.NONE
        : Objects.of(Identities.of(read));
  }

  /** Null if something is wrong with it. */
  static @Nullable Identity identity(Fields metadata, Fields spec) {
    var key = key(metadata, "my-vm");
    var read = spec(spec);
    var set = spec.text("identitySet");
    if (set != null && !Names.valid(set)) {
      spec.problem("identitySet", Names.complaint(set));
    }
    spec.ignore("nodeName"); // a cluster's
    spec.done();
    return key == null || read == null ? null : new Identity(key, metadata.text("uid"), set, read);
  }

  private static @Nullable IdentityKey key(Fields metadata, String example) {
    var name = metadata.requiredText("name", example);
    var written = metadata.text("namespace");
    var namespace = written == null ? VmObjects.DEFAULT_NAMESPACE : written;
    Names.check(metadata, namespace, name);
    return name == null ? null : new IdentityKey(namespace, name);
  }

  private static @Nullable IdentitySpec spec(Fields spec) {
    var image = image(spec);
    var uuid = spec.<UUID>parsed("firmwareUUID", VmObjects::uuid);
    var policy = spec.word("firmwareUUIDPolicy", POLICIES);
    if (policy == UuidPolicy.PER_POD && !spec.has("firmwareUUID")) {
      spec.problem("firmwareUUIDPolicy", "PerPod needs firmwareUUID, from which UUIDs are made");
    }
    var type = spec.word("type", TYPES);
    var size = spec.size("size");
    if (size != null && size.bytes() == 0) {
      spec.problem("size", "a disk has some bytes; leave it out for the size of the image");
    }
    var storageClass = spec.text("storageClassName");
    if (storageClass != null
        && type != IdentitySpec.Type.PERSISTENT_VOLUME
        && (type != null || !spec.has("type"))) {
      spec.problem("storageClassName", "only type PersistentVolume has a storage class");
    }
    return image == null
        ? null
        : new IdentitySpec(
            image,
            uuid,
            policy == null ? UuidPolicy.SHARED : policy,
            type == null ? IdentitySpec.Type.LOCAL : type,
            size,
            storageClass);
  }

  private static @Nullable String image(Fields spec) {
    var before = spec.problemCount();
    var image = PodObjects.image(spec);
    if (spec.problemCount() > before) {
      return null;
    }
    if (!PINNED.matcher(image).matches()) {
      spec.problem(
          "image",
          "has no sha256 digest, and identities of one set must have the same image for ever; write"
              + " NAME@sha256:…");
      return null;
    }
    return image;
  }
}
