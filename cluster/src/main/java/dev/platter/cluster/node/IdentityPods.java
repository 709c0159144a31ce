package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The launcher pods here that name an identity, and the logins for its image that they bring, as
 * the kubelet has mounted them. An identity and its pod are in one namespace, so nobody gets at a
 * Secret of somebody else.
 */
final class IdentityPods implements IdentityKeeper.Pods {
  private final Supplier<List<Pod>> pods;
  private final Path kubelet;

  /**
   * @param pods the launcher pods of this node
   */
  IdentityPods(Supplier<List<Pod>> pods, Path kubelet) {
    this.pods = pods;
    this.kubelet = kubelet;
  }

  private Stream<Pod> naming(IdentityKey identity) {
    return pods.get().stream()
        .filter(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        .filter(pod -> identity(pod).filter(identity::equals).isPresent());
  }

  @Override
  public boolean want(IdentityKey identity) {
    return naming(identity).findAny().isPresent();
  }

  @Override
  public ImageLogins logins(IdentityKey identity) throws IOException {
    for (var pod : naming(identity).toList()) {
      var secrets = pullSecrets(pod);
      if (!secrets.isEmpty()) {
        var volumes = new KubeletVolumes(kubelet, pod.getMetadata().getUid());
        return LauncherSecrets.read(volumes, identity.namespace(), secrets).logins();
      }
    }
    return ImageLogins.NONE;
  }

  private static Map<String, String> pullSecrets(Pod pod) {
    var out = new LinkedHashMap<>(LauncherSecrets.volumes(pod));
    out.keySet().removeIf(volume -> !volume.startsWith(Names.PULL_VOLUME_PREFIX));
    return out;
  }

  /** The identity that a launcher pod names. */
  static Optional<IdentityKey> identity(Pod pod) {
    return Optional.ofNullable(pod.getMetadata().getLabels())
        .map(labels -> labels.get(Names.IDENTITY))
        .map(name -> new IdentityKey(pod.getMetadata().getNamespace(), name));
  }
}
