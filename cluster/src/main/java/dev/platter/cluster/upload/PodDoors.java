package dev.platter.cluster.upload;

import dev.platter.cluster.api.UploadSecret;
import dev.platter.cluster.api.UploadToken;
import dev.platter.node.fill.UploadProxy;
import dev.platter.node.fill.UploadProxy.Door;
import dev.platter.node.fill.UploadProxy.Refused;
import io.fabric8.kubernetes.api.model.Pod;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * From a token to the pod of its claim. A pod that is not ready is waited for, as CDI does, since a
 * client may have been told of it a moment before it was lost.
 *
 * <p>An address that another pod has by now is found out by its certificate.
 *
 * @param files what is mounted, as it is now
 * @param pods by namespace and name; empty if there is none
 * @param tick how long to wait before another look
 */
record PodDoors(
    Supplier<UploadFiles.Content> files,
    BiFunction<String, String, Optional<Pod>> pods,
    InstantSource clock,
    Duration tick)
    implements UploadProxy.Doors {
  private static final int LOOKS = 10;

  @Override
  public Door find(String token) throws Refused, InterruptedException {
    var known = files.get();
    var read =
        UploadToken.read(token, known.signers(), clock.instant())
            .orElseThrow(
                () ->
                    new Refused(401, "Token", "the token is not one of here, or its time is over"));
    for (var i = 0; i < LOOKS; i++) {
      var pod = pods.apply(read.namespace(), read.pod()).filter(PodDoors::isReady);
      if (pod.isPresent()) {
        var address = new InetSocketAddress(pod.get().getStatus().getPodIP(), UploadSecret.PORT);
        return new Door(address, read.pod(), known.pods());
      }
      Thread.sleep(tick);
    }
    throw new Refused(
        503,
        "NotReady",
        "no pod is ready to take the disk of %s/%s; it may have it already"
            .formatted(read.namespace(), read.claim()));
  }

  /** Not one in the network of its node, which would have the node's address. */
  private static boolean isReady(Pod pod) {
    var status = pod.getStatus();
    return pod.getMetadata().getDeletionTimestamp() == null
        && !Boolean.TRUE.equals(pod.getSpec().getHostNetwork())
        && status != null
        && status.getPodIP() != null
        && status.getConditions().stream()
            .anyMatch(it -> it.getType().equals("Ready") && it.getStatus().equals("True"));
  }
}
