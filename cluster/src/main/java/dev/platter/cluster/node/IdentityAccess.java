package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.IdentityKey;
import dev.platter.node.IdentityDisks;
import java.io.IOException;
import java.util.Optional;

/**
 * Whether a VM can have the disk of its identity: it is here, it stays, and the object cannot
 * vanish before the disk, since from now on there are bytes in it that are nowhere else.
 */
final class IdentityAccess {
  private final IdentityKeeper.Objects objects;
  private final String node;
  private final IdentityDisks disks;

  IdentityAccess(IdentityKeeper.Objects objects, String node, IdentityDisks disks) {
    this.objects = objects;
    this.node = node;
    this.disks = disks;
  }

  /** What keeps a VM from the disk; empty if nothing does. */
  Optional<String> obstacle(IdentityKey key) {
    var found = objects.identity(key);
    if (found.isEmpty()) {
      return Optional.of("There is no VirtletVMIdentity " + key.name() + " yet.");
    }
    var identity = found.get();
    var status = IdentityStatus.of(identity);
    if (identity.ends()) {
      return Optional.of("The VirtletVMIdentity " + key.name() + " is being deleted.");
    }
    if (node.equals(status.nodeName()) && isUsable(key)) {
      return identity.waitsForDisk()
          ? Optional.empty() // Whatever else is said: nobody can take it away from now on.
          : Optional.of("The VirtletVMIdentity " + key.name() + " has no finalizer yet.");
    }
    if (!status.ready()) {
      return Optional.of(
          "The VirtletVMIdentity " + key.name() + " is not ready." + said(status, Condition.READY));
    }
    return identity.local() ? Optional.of(elsewhere(identity, status)) : Optional.empty();
  }

  private String elsewhere(VmIdentity identity, IdentityStatus status) {
    var wanted = identity.wantedNode();
    if (wanted == null || wanted.equals(status.nodeName())) {
      return "The disk of the VirtletVMIdentity %s is on %s, and comes here when no pod there uses it."
          .formatted(identity.getMetadata().getName(), status.nodeName());
    }
    return "The disk of the VirtletVMIdentity %s is on %s, and is to be brought to %s.%s"
        .formatted(
            identity.getMetadata().getName(),
            status.nodeName(),
            wanted,
            said(status, Condition.PLACED));
  }

  private static String said(IdentityStatus status, String type) {
    var condition = Conditions.find(status.conditions(), type);
    return condition == null || condition.message() == null ? "" : " " + condition.message();
  }

  private boolean isUsable(IdentityKey key) {
    try {
      return disks.isUsable(key);
    } catch (IOException e) {
      return false;
    }
  }
}
