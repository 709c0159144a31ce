package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whose a VM of this machine is.
 *
 * @param uid of the pod, or of the VM object
 * @param kind what has that UID: the VM's disks live as long as it does
 * @param description a hash of what the VM was made from
 * @param console how long the console's log was when the VM was last started
 * @param leases the names of the Leases that it may have
 * @param launcher the pod that runs it, or ran it last; null if a daemon before this version did
 */
record Owner(
    VmKey key,
    String uid,
    Kind kind,
    String description,
    long console,
    List<String> leases,
    @Nullable Launcher launcher) {
  Owner {
    leases = List.copyOf(leases);
  }

  /** What owns a VM. */
  enum Kind {
    POD,
    VIRTUAL_MACHINE
  }

  /**
   * @param secrets the volumes with Secrets that the VM needs, and the names of these
   */
  record Launcher(String uid, Map<String, String> secrets) {}

  /** Of the pod's VM: the VM object that has made the pod, or the pod itself. */
  static Owner of(Pod pod) {
    var metadata = pod.getMetadata();
    var annotations =
        metadata.getAnnotations() == null ? Map.<String, String>of() : metadata.getAnnotations();
    var vm = annotations.get(Names.VM);
    var key = PodVms.key(pod);
    var object = vm == null ? Optional.<String>empty() : vmObject(metadata, key.name());
    return new Owner(
        key,
        object.orElse(metadata.getUid()),
        object.isPresent() ? Kind.VIRTUAL_MACHINE : Kind.POD,
        hash(vm == null ? String.valueOf(annotations.get(Names.WRITTEN)) : vm),
        0,
        List.of(),
        new Launcher(metadata.getUid(), LauncherSecrets.volumes(pod)));
  }

  /** Anybody can write such a reference: that there is this object is seen when it is kept. */
  private static Optional<String> vmObject(ObjectMeta pod, String name) {
    return pod.getOwnerReferences().stream()
        .filter(
            owner ->
                owner.getKind().equals("VirtualMachine")
                    && owner.getApiVersion().startsWith(Names.GROUP + "/")
                    && owner.getName().equals(name))
        .map(OwnerReference::getUid)
        .findFirst();
  }

  private static String hash(String text) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  Owner startingAt(long length, List<String> taking) {
    return new Owner(key, uid, kind, description, length, taking, launcher);
  }
}
