package dev.platter.cluster.api;

import dev.platter.model.PlatterException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Why something is as it is: the one list for events, conditions and metrics. */
public enum Reason {
  CREATED("The pod of the VM was made."),
  STARTING("The node makes the VM's disks and starts it."),
  RUNNING("The guest runs."),
  STOPPING("The guest was asked to shut down."),
  STOPPED("The guest has shut down."),
  COMPLETED("The program of the VM's image has ended."),
  EXITED("The program of the VM's image has failed."),
  CUT_OFF("The VM ended before the program of its image did."),
  CRASHED("The VM's QEMU ended without the guest having shut down."),
  OUT_OF_MEMORY("The kernel ended the VM's QEMU: the pod reached its memory limit."),
  INVALID("What the VM's description says is not valid."),
  REFUSED("The VM's image or disk was refused."),
  IN_USE("A disk of the VM is in use elsewhere."),
  UNAVAILABLE("The node or a server lacks something that is needed."),
  NOT_FOUND("Something that the VM names does not exist."),
  UNSUPPORTED("Valid, but this version does not do it."),
  TIMED_OUT("It took longer than it may, and was given up."),
  WAITING_FOR_NODE("No node runs the VM's pod yet."),
  WAITING_FOR_SOURCE("A container makes, serves or deletes a disk of the VM."),
  DISK_LOST("What served a disk of the VM is gone, and what was written to it."),
  DISK_FULL("A disk of the VM has no room; the VM stands still until there is some."),
  VOLUME_ABANDONED("Nobody can delete a volume that a container may have made."),
  POD_EXISTS("A pod that is not the VM's has its name."),
  WAITING_FOR_IDENTITY("The disk of the VM's identity is not here yet."),
  READY("The disk is there."),
  MOVING("It moves to another node."),
  MOVED("The VM runs on another node."),
  WAITING_FOR_VM("The VM does not run."),
  WAITING_FOR_MIGRATION("Another migration of the VM is not over."),
  CANCELLED("Somebody gave it up."),
  SET_GONE("The set of the identity does not exist; the identity stays what it is."),
  KEPT_RUNNING("A StatefulSet keeps the pod of the identity."),
  IMPORTING("The image is being written to a volume."),
  FILLING("A disk is being written to a volume for the claim."),
  DRAWING("A VM can use the claim already; the rest of its disk is being fetched."),
  FILLED("The disk is on the claim."),
  WAITING_FOR_CONSUMER("The storage class makes the volume when a pod wants the claim."),
  WAITING_FOR_CLAIM("No claim names it in its dataSourceRef."),
  WAITING_FOR_UPLOAD("The claim's pod waits for the disk."),
  BOUND_ELSEWHERE("The claim got its volume from somebody else; nobody knows what is on it."),
  /** As CDI calls it: its clients stop to wait when they see an event of this name. */
  ERR_CLAIM_NOT_VALID("What the DataVolume asks for is not valid, or is not done here."),
  FILL_FAILED("The disk was not written to the claim, and it is tried again."),
  WAITING_FOR_IMAGE("The image is not in the storage class yet."),
  WAITING_FOR_VOLUME("The storage class has not made the volume yet."),
  PROVISIONING_FAILED("The storage class does not make the volume."),
  NO_SNAPSHOTS("The storage class makes no snapshots."),
  SNAPSHOT_FAILED("The storage class does not make the snapshot."),
  UNUSED("Nobody wants it any more."),
  NODE_LOST("The node of the VM does not answer."),
  HALTED("The VM is not wanted to run."),
  CHANGED("The VM's description changed; that takes effect at its next start."),
  RESTARTING("The VM ended and is started again."),
  NAME_TAKEN("An object that is not the group's has the name of one of its VMs."),
  SCALED("The group made or removed VMs."),
  DISKS_ABANDONED("The node that had the VM's disks is gone, and they with it."),
  INTERNAL("A bug in Platter, or an unexpected failure of the machine.");

  private final String sentence;

  Reason(String sentence) {
    this.sentence = sentence;
  }

  public String sentence() {
    return sentence;
  }

  /** Whether all is as somebody wanted it. */
  public boolean isNormal() {
    return switch (this) {
      case CREATED,
          STARTING,
          RUNNING,
          STOPPING,
          STOPPED,
          COMPLETED,
          HALTED,
          WAITING_FOR_NODE,
          WAITING_FOR_SOURCE,
          IMPORTING,
          FILLING,
          DRAWING,
          FILLED,
          WAITING_FOR_CONSUMER,
          WAITING_FOR_CLAIM,
          WAITING_FOR_UPLOAD,
          WAITING_FOR_IMAGE,
          WAITING_FOR_VOLUME,
          UNUSED,
          READY,
          KEPT_RUNNING,
          MOVING,
          MOVED,
          WAITING_FOR_VM,
          WAITING_FOR_MIGRATION,
          CANCELLED ->
          true;
      default -> false;
    };
  }

  /** The one that is written so; internal if there is none. */
  public static Reason of(@Nullable String word) {
    return Arrays.stream(values())
        .filter(reason -> reason.word().equals(word))
        .findFirst()
        .orElse(INTERNAL);
  }

  /** Why something failed. */
  public static Reason of(PlatterException.Code code) {
    return switch (code) {
      case INVALID -> INVALID;
      case NOT_FOUND -> NOT_FOUND;
      case CONFLICT -> IN_USE;
      case UNAVAILABLE -> UNAVAILABLE;
      case REFUSED -> REFUSED;
      case UNSUPPORTED -> UNSUPPORTED;
      case TIMED_OUT -> TIMED_OUT;
      case INTERNAL -> INTERNAL;
    };
  }

  /** As Kubernetes writes reasons: {@code OutOfMemory}. */
  public String word() {
    var out = new StringBuilder();
    for (var part : name().split("_")) {
      out.append(part.charAt(0)).append(part.substring(1).toLowerCase(java.util.Locale.ROOT));
    }
    return out.toString();
  }
}
