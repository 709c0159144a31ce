package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a VM is. The controller owns all of it but {@code disks}, which the node daemon applies under
 * its own field manager; what is empty is left out, so that neither takes the other's fields.
 *
 * <p>While a VM moves, {@code nodeName}, {@code podName} and {@code handedTo} are the one record
 * that says where it is. They are changed together, by the version that was read.
 *
 * @param nodeName the node where it runs or ran last; it has the disks that are kept
 * @param podName the pod that it has moved to; null if its pod has its own name
 * @param handedTo who may say that the VM is there; null if nobody may
 * @param movedTo the pod that it moved to last. It stays when that pod is gone: the node may have
 *     to know yet that the VM is its own
 * @param exitCode of the program of a container image, when the VM has ended
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record VmStatus(
    @Nullable VmPhase phase,
    List<Condition> conditions,
    @Nullable String nodeName,
    List<SourceStatus> sources,
    List<DiskStatus> disks,
    @Nullable String podName,
    @Nullable HandedTo handedTo,
    @Nullable String movedTo,
    @Nullable Long observedGeneration,
    @Nullable Integer exitCode) {
  public static final VmStatus NONE =
      new VmStatus(null, List.of(), null, List.of(), List.of(), null);

  /** Of a VM that does not move. */
  public VmStatus(
      @Nullable VmPhase phase,
      List<Condition> conditions,
      @Nullable String nodeName,
      List<SourceStatus> sources,
      List<DiskStatus> disks,
      @Nullable Long observedGeneration) {
    this(phase, conditions, nodeName, sources, disks, null, null, null, observedGeneration, null);
  }

  // A server may leave out any of them.
  @SuppressWarnings("NullAway")
  public VmStatus {
    conditions = conditions == null ? List.of() : List.copyOf(conditions);
    sources = sources == null ? List.of() : List.copyOf(sources);
    disks = disks == null ? List.of() : List.copyOf(disks);
  }

  /** What the VM says of itself; never null. */
  public static VmStatus of(VirtualMachine vm) {
    VmStatus status = vm.getStatus();
    return status == null ? NONE : status;
  }

  public @Nullable Condition condition(String type) {
    return Conditions.find(conditions, type);
  }

  public boolean ready() {
    var ready = condition(Condition.READY);
    return ready != null && ready.holds();
  }

  /** The pod that is the VM's. */
  public String pod(String vm) {
    return podName == null ? vm : podName;
  }

  /** The part that the controller owns. */
  public VmStatus withoutDisks() {
    return new VmStatus(phase, conditions, nodeName, sources, List.of(), observedGeneration)
        .withExitCode(exitCode);
  }

  public VmStatus withExitCode(@Nullable Integer code) {
    return new VmStatus(
        phase,
        conditions,
        nodeName,
        sources,
        disks,
        podName,
        handedTo,
        movedTo,
        observedGeneration,
        code);
  }

  /**
   * The pod of a VM that moves, and its node.
   *
   * @param podName its name, which tells of which move it is
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record HandedTo(String podName, String nodeName) {}

  /**
   * A volume that a container was asked to make, or a disk that an image serves. It is written
   * before anybody is asked, and goes when the volume or the pod is gone: so none is forgotten.
   *
   * @param disk the disk's name
   * @param volume the volume's name in requests, or the iSCSI name of what is served
   * @param answer the source that the disk has instead, as JSON; null until there is one. What is
   *     served has been given to a pod of the VM then, and is for no other
   * @param pod the pod that serves the disk; null of a volume
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  public record SourceStatus(
      String disk, String volume, @Nullable String answer, @Nullable String pod) {}

  /**
   * One disk of a VM.
   *
   * @param source what it was made from, for people
   * @param digest the image's; null for other sources
   * @param size in bytes
   * @param chain the files and sources that it is made of, the guest's first
   * @param fetched bytes of the image that this node has; null if it needs none of a registry
   * @param total bytes of the image
   * @param percent of the image that is here; 100 if nothing is missing
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  public record DiskStatus(
      String name,
      @Nullable String source,
      @Nullable String digest,
      @Nullable Long size,
      List<String> chain,
      @Nullable Long fetched,
      @Nullable Long total,
      @Nullable Integer percent) {
    @SuppressWarnings("NullAway")
    public DiskStatus {
      chain = chain == null ? List.of() : List.copyOf(chain);
    }
  }
}
