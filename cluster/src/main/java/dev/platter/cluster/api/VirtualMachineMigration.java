package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.Version;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** That a running VM is to go on at another node. Deleting it before that is so gives it up. */
@Group(Names.GROUP)
@Version(Names.VERSION)
@Kind("VirtualMachineMigration")
@ShortNames("vmm")
public final class VirtualMachineMigration
    extends CustomResource<VirtualMachineMigration.Spec, VirtualMachineMigration.Status>
    implements Namespaced {
  private static final long serialVersionUID = 1L;
  private static final int NAME_PART = 8;

  /**
   * @param vm the VM's name
   * @param node where it is to go; null means that the scheduler chooses
   * @param completionTimeoutPerGiB how many seconds each GiB of what is sent may take
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Spec(String vm, @Nullable String node, @Nullable Integer completionTimeoutPerGiB) {}

  /**
   * The controller says which nodes; the node that the VM leaves says how it went.
   *
   * @param downtime for how long the guest stood still at the most, such as {@code 412ms}
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  public record Status(
      @Nullable MigrationPhase phase,
      List<Condition> conditions,
      @Nullable String sourceNode,
      @Nullable String sourcePod,
      @Nullable String targetNode,
      @Nullable String targetPod,
      @Nullable String downtime,
      @Nullable Long memoryBytes,
      @Nullable Long diskBytes,
      @Nullable Long observedGeneration) {
    public static final Status NONE =
        new Status(null, List.of(), null, null, null, null, null, null, null, null);

    // A server may leave out any of them.
    @SuppressWarnings("NullAway")
    public Status {
      conditions = conditions == null ? List.of() : List.copyOf(conditions);
    }

    /** The same, but so far. */
    public Status at(MigrationPhase next, List<Condition> said) {
      return new Status(
          next,
          said,
          sourceNode,
          sourcePod,
          targetNode,
          targetPod,
          downtime,
          memoryBytes,
          diskBytes,
          observedGeneration);
    }

    public Status onNode(@Nullable String node) {
      return new Status(
          phase,
          conditions,
          sourceNode,
          sourcePod,
          node,
          targetPod,
          downtime,
          memoryBytes,
          diskBytes,
          observedGeneration);
    }

    /**
     * What it took.
     *
     * @param stood for how long the guest stood still
     */
    public Status took(Duration stood, long memory, long disks) {
      return new Status(
          phase,
          conditions,
          sourceNode,
          sourcePod,
          targetNode,
          targetPod,
          stood.toMillis() + "ms",
          memory,
          disks,
          observedGeneration);
    }
  }

  /** What it says of itself; never null. */
  public Status said() {
    Status status = getStatus();
    return status == null ? Status.NONE : status;
  }

  /** Whether it is over. */
  public boolean ended() {
    var phase = said().phase();
    return phase != null && phase.ended();
  }

  /** Whether somebody wants it given up. */
  public boolean cancelled() {
    return getMetadata().getDeletionTimestamp() != null;
  }

  public UUID move() {
    return UUID.fromString(getMetadata().getUid());
  }

  /** The pod that a VM has after a move: both nodes can tell it from the move alone. */
  public static String podName(String vm, UUID move) {
    return vm + "-" + move.toString().substring(0, NAME_PART);
  }
}
