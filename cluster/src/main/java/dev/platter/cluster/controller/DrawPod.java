package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.LocalObjectReference;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The pod for which the daemon of a node has a volume begin as an image. It is written like a VM,
 * so the webhook makes a launcher of it, and the image is looked up with the login that the pod
 * has, on the node, as that of any VM is; an annotation says that there is none to be started. It
 * says how large the image is when the volume begins as it, and stays until the node has all of the
 * image: as long as the daemon may have to log in for it.
 */
final class DrawPod {
  /** What a digest is put behind. */
  private static final Pattern TAG = Pattern.compile(":[\\w][\\w.-]{0,127}$");

  private static final String DIGEST = "@sha256:";

  /** The guest's, which there is none of. */
  private static final Quantity MEMORY = new Quantity("16Mi");

  private DrawPod() {}

  /**
   * Whether a node can fetch what the object names, as it is: an image that everybody trusts, with
   * a digest. Files from the web, and certificates of the user's own, are for pods.
   */
  static boolean isPossible(DiskImport disk, PersistentVolumeClaim claim) {
    var registry = disk.getSpec().source().registry();
    return registry != null
        && registry.caConfigMap() == null
        && disk.getSpec().format() == null
        && reference(disk) != null
        && PrimeClaim.isBlock(claim)
        && PrimeClaim.selectedNode(claim) != null
        && claim.getSpec().getAccessModes().stream().allMatch("ReadWriteOnce"::equals);
  }

  /** By its digest; null if it has none, or two. */
  private static @Nullable String reference(DiskImport disk) {
    var registry = disk.getSpec().source().registry();
    var digest = disk.getSpec().digest();
    if (registry == null) {
      return null;
    }
    var image = registry.image();
    if (!image.contains(DIGEST)) {
      return digest == null ? null : TAG.matcher(image).replaceFirst("") + "@" + digest;
    }
    return digest == null || image.endsWith("@" + digest) ? image : null;
  }

  /** One that has the volume of the prime claim begin as the image. */
  static Pod draw(DiskImport disk, PersistentVolumeClaim claim, SourceKey key, String node) {
    return pod(disk, claim, key, node, Names.FILL_DRAW, String.valueOf(reference(disk)));
  }

  /**
   * One that only stays.
   *
   * @param digest of the image that the volume began as, whatever the object says by now
   */
  static Pod stay(
      DiskImport disk, PersistentVolumeClaim claim, SourceKey key, String node, String digest) {
    var image = String.valueOf(reference(disk));
    var same = image.substring(0, image.indexOf('@') + 1) + digest;
    return pod(disk, claim, key, node, Names.FILL_STAY, same);
  }

  private static Pod pod(
      DiskImport disk,
      PersistentVolumeClaim claim,
      SourceKey key,
      String node,
      String word,
      String image) {
    var meta = PrimeClaim.metadata(claim, key);
    meta.getAnnotations().put(Names.FILLS_GENERATION, disk.version());
    meta.getAnnotations().put(Names.TARGET_RUNTIME, Names.OUR_RUNTIME);
    meta.getAnnotations().put(Names.FILL, word);
    meta.getAnnotations().put(Names.FILLS_DIGEST, image.substring(image.indexOf('@') + 1));
    var registry = disk.getSpec().source().registry();
    var secret = registry == null ? null : registry.pullSecret();
    var secrets =
        secret == null
            ? List.<LocalObjectReference>of()
            : List.of(new LocalObjectReference(secret.name()));
    return new PodBuilder()
        .withMetadata(meta)
        .withNewSpec()
        .withRestartPolicy("Never")
        .withTerminationGracePeriodSeconds(5L)
        .withImagePullSecrets(secrets)
        .withNewAffinity()
        .withNewNodeAffinity()
        .withNewRequiredDuringSchedulingIgnoredDuringExecution()
        .addNewNodeSelectorTerm()
        .addNewMatchField()
        .withKey("metadata.name")
        .withOperator("In")
        .withValues(node)
        .endMatchField()
        .endNodeSelectorTerm()
        .endRequiredDuringSchedulingIgnoredDuringExecution()
        .endNodeAffinity()
        .endAffinity()
        .addNewContainer()
        .withName("draw")
        .withImage(Names.OUR_RUNTIME + "/" + image)
        .withNewResources()
        .addToLimits("memory", MEMORY)
        .endResources()
        .endContainer()
        .endSpec()
        .build();
  }

  /** Whether it is one of these. */
  static boolean is(@Nullable Pod pod) {
    return pod != null
        && Optional.ofNullable(pod.getMetadata().getAnnotations())
            .map(annotations -> annotations.get(Names.FILL))
            .filter(word -> word.equals(Names.FILL_DRAW) || word.equals(Names.FILL_STAY))
            .isPresent();
  }

  /** Whether the volume of the prime claim begins as the image. */
  static boolean hasBegun(Pod pod) {
    return is(pod) && FillerPod.sizeOf(pod) != null;
  }

  /** Of the image. */
  static @Nullable String digest(Pod pod) {
    return pod.getMetadata().getAnnotations().get(Names.FILLS_DIGEST);
  }

  static boolean isOver(Pod pod) {
    return FillerPod.succeeded(pod) || FillerPod.failed(pod);
  }
}
