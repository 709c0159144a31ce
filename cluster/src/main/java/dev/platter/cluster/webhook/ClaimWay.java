package dev.platter.cluster.webhook;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.Binding;
import dev.platter.model.Driver;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Volume;
import dev.platter.model.Volumes;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a VM gets at a claim: the kubelet mounts its file system or maps its device, or QEMU connects
 * to the storage itself and the kubelet has nothing to do with it.
 *
 * <p>A claim that is not bound yet is taken for what the controller of volumes will most likely
 * bind it to, by the same rules. Where it chooses otherwise, the node finds nothing mounted and
 * says so.
 */
sealed interface ClaimWay {
  /** Mapped by the kubelet. */
  record Device() implements ClaimWay {}

  /** Mounted by the kubelet. */
  record Directory() implements ClaimWay {}

  /** Opened by QEMU, with these Secrets of the pod's namespace. */
  record Direct(List<String> secrets) implements ClaimWay {
    public Direct {
      secrets = List.copyOf(secrets);
    }
  }

  Set<String> OUR_FLEX_DRIVERS =
      Set.of("virtlet/flexvolume_driver", "kubernetes.io/flexvolume_driver");

  static ClaimWay of(String namespace, String name, Driver driver, ClusterObjects cluster) {
    var claimText =
        cluster
            .claim(namespace, name)
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.NOT_FOUND,
                        "there is no PersistentVolumeClaim "
                            + name
                            + " in namespace "
                            + namespace
                            + "; how the VM gets at it depends on its volumeMode, so make it first",
                        ""));
    var known = read(claimText);
    var claim = known.claims().get(namespace + "/" + name);
    if (claim == null) {
      return new Directory();
    }
    var kubelets = claim.block() ? new Device() : new Directory();
    var volumeName = claim.volume();
    var texts =
        volumeName == null ? cluster.volumes() : cluster.volume(volumeName).stream().toList();
    for (var text : texts) {
      known = known.with(read(text));
    }
    var volume = Binding.of(claim, known).orElse(null);
    if (volume == null || !direct(volume, driver, texts)) {
      return kubelets;
    }
    return new Direct(secrets(volume, namespace));
  }

  /** Nothing of an object that cannot be read: then the kubelet has to deal with it. */
  private static Volumes read(String json) {
    try {
      return Manifests.objects("claim", json).volumes();
    } catch (PlatterException e) {
      return Objects.NONE.volumes();
    }
  }

  private static boolean direct(Volume volume, Driver driver, List<String> texts) {
    if (driver == Driver.KUBELET) {
      return false;
    }
    if (ours(volume.name(), texts)) {
      return true;
    }
    var rawDisk = volume.block() || volume.fsType() == null;
    return switch (volume.storage()) {
      case Volume.Iscsi _ -> driver == Driver.QEMU || rawDisk;
      // A Ceph cluster has a name only in volumes of ceph-csi, which is there to map them.
      case Volume.Rbd rbd -> driver == Driver.QEMU || (rawDisk && rbd.cluster() == null);
      case Volume.Listed _, Volume.Fresh _ -> true;
      case Volume.Local _, Volume.Unknown _ -> false;
    };
  }

  /** No kubelet has a driver for it. */
  private static boolean ours(String name, List<String> texts) {
    return texts.stream()
        .map(text -> Json.read(text, "a PersistentVolume"))
        .filter(volume -> name.equals(Json.text(Json.object(volume, "metadata"), "name")))
        .map(volume -> Json.object(Json.object(volume, "spec"), "flexVolume"))
        .anyMatch(flex -> OUR_FLEX_DRIVERS.contains(Json.text(flex, "driver", "")));
  }

  private static List<String> secrets(Volume volume, String namespace) {
    var login =
        switch (volume.storage()) {
          case Volume.Iscsi iscsi -> iscsi.login();
          case Volume.Rbd rbd -> rbd.login();
          case Volume.Listed _, Volume.Fresh _, Volume.Local _, Volume.Unknown _ -> null;
        };
    // A key that stands in the volume itself has a namespace that no Secret can have.
    if (login == null || "PersistentVolume".equals(login.namespace())) {
      return List.of();
    }
    checkNamespace(volume, login.namespace(), login.secret(), namespace);
    return List.of(login.secret());
  }

  private static void checkNamespace(
      Volume volume, @Nullable String found, String secret, String namespace) {
    if (found != null && !found.equals(namespace)) {
      throw Json.refused(
          "the password of PersistentVolume "
              + volume.name()
              + " is in Secret "
              + found
              + "/"
              + secret
              + ", and a pod can be given Secrets of its own namespace only; use driver: {name:"
              + " kubelet}, or a volume whose secretRef is in namespace "
              + namespace);
    }
  }
}
