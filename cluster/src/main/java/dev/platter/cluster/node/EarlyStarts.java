package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.PodSockets;
import dev.platter.cluster.csi.PodVolume;
import dev.platter.node.image.Images;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Volume;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Begins the starts of VMs before their launchers call. When the kubelet asks for a pod's socket,
 * its container is still to be made, which takes the kubelet far longer than a disk takes us; so by
 * the time of the call nothing is left but QEMU.
 *
 * <p>A pod has one such start at most, before its first launcher: kubelets ask for sockets again
 * after their own restart, when the VM runs. It is for pods only whose other volumes are files that
 * the kubelet has written, and that start a VM by themselves: a claim may not be mounted yet, an
 * identity not ready, and a VM that moves here is not started at all. One that fails is forgotten:
 * then the launcher's call begins anew, and tells why it cannot be. Leases are taken only when the
 * launcher has called, lest a disk be nobody else's for the sake of a container that never starts.
 */
final class EarlyStarts {
  /** How long a start waits for its launcher; a kubelet may have its image to pull. */
  private static final Duration LAUNCHER_PATIENCE = Duration.ofMinutes(2);

  /** How long files may come after the socket. */
  private static final Duration FILE_PATIENCE = Duration.ofSeconds(5);

  private static final Duration POLL = Duration.ofMillis(20);

  private final PodVms vms;
  private final Api api;
  private final Path kubelet;
  private final Duration patience;
  private final Consumer<String> log;

  /** By the pod's UID; empty from the launcher's first call on. */
  private final Map<String, Optional<EarlyStart>> all = new ConcurrentHashMap<>();

  EarlyStarts(PodVms vms, Api api, Path kubelet, Consumer<String> log) {
    this(vms, api, kubelet, LAUNCHER_PATIENCE, log);
  }

  EarlyStarts(PodVms vms, Api api, Path kubelet, Duration patience, Consumer<String> log) {
    this.vms = vms;
    this.api = api;
    this.kubelet = kubelet;
    this.patience = patience;
    this.log = log;
  }

  /** These sockets; who asks for one, or gives it back, tells of a pod that comes or goes. */
  PodSockets with(PodSockets sockets) {
    return new PodSockets() {
      @Override
      public void publish(PodVolume volume) throws IOException {
        sockets.publish(volume);
        begin(volume.podUid());
      }

      @Override
      public void unpublish(String volumeId, Path target) throws IOException {
        cancel(PodDirectory.podUid(target));
        sockets.unpublish(volumeId, target);
      }
    };
  }

  private void begin(String uid) {
    var early =
        new EarlyStart(
            uid,
            patience,
            problem -> log.accept("pod " + uid + " waits for its launcher: " + problem),
            start -> start(uid, start));
    if (all.putIfAbsent(uid, Optional.of(early)) == null) {
      early.begin();
    }
  }

  /** The pod is going, and with it what was made for a launcher that has not called. */
  void cancel(String uid) {
    var early = all.remove(uid);
    if (early != null) {
      early.ifPresent(EarlyStart::cancel);
    }
  }

  /**
   * The launcher of this pod has called: from now on its calls start the VM.
   *
   * @param told how far a long copy is; may end the start by an exception
   * @return empty if nothing was begun for it, or that had failed
   */
  Optional<StartClock> finish(String uid, Images.BytesDone told) throws IOException {
    var early = all.put(uid, Optional.empty());
    return early == null || early.isEmpty() ? Optional.empty() : early.get().finish(told);
  }

  private Optional<StartClock> start(String uid, EarlyStart early) throws IOException {
    var pod = awaitPod(uid);
    return pod == null || !startsByItself(pod) ? Optional.empty() : vms.startEarly(pod, early);
  }

  /** With its files, if it has any. */
  private @Nullable Pod awaitPod(String uid) {
    try {
      for (var until = System.nanoTime() + FILE_PATIENCE.toNanos(); System.nanoTime() < until; ) {
        var pod = api.pod(uid);
        if (pod.isPresent() && (!startsByItself(pod.get()) || areFilesThere(pod.get()))) {
          return pod.get();
        }
        Thread.sleep(POLL);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return null;
  }

  private static boolean startsByItself(Pod pod) {
    var metadata = pod.getMetadata();
    return metadata.getDeletionTimestamp() == null
        && Fills.wanted(pod).isEmpty()
        && !PodVms.awaitsVm(pod)
        && metadata.getLabels().get(Names.IDENTITY) == null
        && pod.getSpec().getVolumes().stream()
            .allMatch(volume -> isSocket(volume) || KubeletVolumes.filePlugin(volume).isPresent());
  }

  private static boolean isSocket(Volume volume) {
    return volume.getName().equals(Names.SOCKET_VOLUME);
  }

  private boolean areFilesThere(Pod pod) {
    var volumes = new KubeletVolumes(kubelet, pod.getMetadata().getUid());
    return pod.getSpec().getVolumes().stream()
        .filter(volume -> !isSocket(volume))
        .allMatch(
            volume ->
                volumes.hasFiles(
                    KubeletVolumes.filePlugin(volume).orElseThrow(), volume.getName()));
  }
}
