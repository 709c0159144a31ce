package dev.platter.cluster.node;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.VmIdentity;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Comparator;
import java.util.UUID;
import java.util.function.BooleanSupplier;

/** What a node has to do about an identity. */
enum IdentityDuty {
  NOTHING,
  /** Nobody has its disk, and this is the node that should. */
  MAKE,
  /** Another node has its disk, and this is the one that should. */
  FETCH,
  /** What came is its disk now. */
  ARRIVE,
  /** It was to leave, and stays. */
  KEEP,
  /** A VM here is to write to it: from now on the object waits for its disk. */
  PIN,
  /** What is here is not, or no longer, its disk. */
  DROP,
  /** It was deleted: the disk goes, then the object. */
  END,
  /** It is said to be here, and is not. It is not made anew: somebody's bytes were in it. */
  MISS,
  /** It was missed, and is here again: its directory may not have been mounted. */
  FOUND;

  /** Whether it takes the latest word of the API server, since there is no way back from it. */
  boolean isFinal() {
    return switch (this) {
      case ARRIVE, KEEP, DROP, END -> true;
      case NOTHING, MAKE, FETCH, PIN, MISS, FOUND -> false;
    };
  }

  /**
   * @param hold how this node has its disk
   * @param nodes those that can have disks, this one among them if it can
   * @param wanted whether a VM of this node is to have it
   */
  static IdentityDuty of(
      VmIdentity identity,
      IdentityHold hold,
      String node,
      Collection<String> nodes,
      BooleanSupplier wanted) {
    if (!identity.local()) {
      return drop(hold); // The controller's.
    }
    var status = IdentityStatus.of(identity);
    var ours = node.equals(status.nodeName());
    var target = identity.wantedNode();
    if (identity.ends()) {
      return ours ? END : drop(hold);
    }
    if (ours) {
      return switch (hold) {
        case COMING -> ARRIVE;
        case LEAVING -> target == null || target.equals(node) ? KEEP : NOTHING;
        case READY -> stays(identity, status, wanted);
        case NONE -> status.ready() ? MISS : NOTHING;
      };
    }
    if (status.nodeName() != null) {
      var comes = node.equals(target) && (hold == IdentityHold.NONE || hold == IdentityHold.COMING);
      return comes ? FETCH : drop(hold);
    }
    var chosen = target == null ? chosen(identity.getMetadata().getUid(), nodes) : target;
    return !node.equals(chosen) || hold == IdentityHold.COMING ? drop(hold) : MAKE;
  }

  private static IdentityDuty drop(IdentityHold hold) {
    return hold == IdentityHold.NONE ? NOTHING : DROP;
  }

  private static IdentityDuty stays(
      VmIdentity identity, IdentityStatus status, BooleanSupplier wanted) {
    if (isPlacedAgain(identity, status)) {
      return KEEP;
    }
    if (!status.ready()) {
      return FOUND;
    }
    return !identity.waitsForDisk() && wanted.getAsBoolean() ? PIN : NOTHING;
  }

  /** It is said to move, and nobody wants that any more. */
  private static boolean isPlacedAgain(VmIdentity identity, IdentityStatus status) {
    var wanted = identity.wantedNode();
    return (wanted == null || wanted.equals(status.nodeName()))
        && Conditions.find(status.conditions(), Condition.PLACED) != null;
  }

  /**
   * All nodes come to the same answer without a word, and a node that comes or goes changes few of
   * them. Should two differ for a moment, the first to say that it has the disk is right.
   */
  private static String chosen(String uid, Collection<String> nodes) {
    return nodes.stream()
        .max(Comparator.comparing((String name) -> weight(uid, name)).thenComparing(name -> name))
        .orElse("");
  }

  private static UUID weight(String uid, String node) {
    return UUID.nameUUIDFromBytes((uid + "\n" + node).getBytes(StandardCharsets.UTF_8));
  }
}
