package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How an identity is. The node that has its disk writes it.
 *
 * @param creationTime when its disk was made
 * @param nodeName the node that has the disk: the one there counts, and no other
 * @param size of the disk in bytes
 * @param claimName the claim that is the disk, if no node has it
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record IdentityStatus(
    @Nullable String creationTime,
    boolean ready,
    @Nullable String nodeName,
    @Nullable Long size,
    List<Condition> conditions,
    @Nullable Long observedGeneration,
    @Nullable String claimName) {
  public static final IdentityStatus NONE =
      new IdentityStatus(null, false, null, null, List.of(), null);

  // A server may leave it out.
  @SuppressWarnings("NullAway")
  public IdentityStatus {
    conditions = conditions == null ? List.of() : List.copyOf(conditions);
  }

  /** Of a disk that a node has or may have. */
  public IdentityStatus(
      @Nullable String creationTime,
      boolean ready,
      @Nullable String nodeName,
      @Nullable Long size,
      List<Condition> conditions,
      @Nullable Long observedGeneration) {
    this(creationTime, ready, nodeName, size, conditions, observedGeneration, null);
  }

  /** What the identity says of itself; never null. */
  public static IdentityStatus of(VmIdentity identity) {
    IdentityStatus status = identity.getStatus();
    return status == null ? NONE : status;
  }
}
