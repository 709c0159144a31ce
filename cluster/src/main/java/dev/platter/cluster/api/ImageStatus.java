package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How far the import of an image is. The controller writes it.
 *
 * @param size of the smallest claim that can be made from it, in bytes; before the snapshot is
 *     there, of the image
 * @param filledClaim the UID of the claim that holds the image
 * @param nodeName the node that the snapshot is on; null if claims of it can be made on any
 * @param unusedSince since when nobody wants it, RFC 3339
 * @param claims those that name it in their {@code dataSourceRef}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record ImageStatus(
    boolean ready,
    @Nullable Long size,
    @Nullable String filledClaim,
    @Nullable String nodeName,
    @Nullable String unusedSince,
    List<FilledClaim> claims,
    List<Condition> conditions,
    @Nullable Long observedGeneration) {
  public static final ImageStatus NONE =
      new ImageStatus(false, null, null, null, null, List.of(), List.of(), null);

  // A server may leave out any of them.
  @SuppressWarnings("NullAway")
  public ImageStatus {
    claims = claims == null ? List.of() : List.copyOf(claims);
    conditions = conditions == null ? List.of() : List.copyOf(conditions);
  }

  /** What the image says of itself; never null. */
  public static ImageStatus of(VmImage image) {
    ImageStatus status = image.getStatus();
    return status == null ? NONE : status;
  }

  public ImageStatus withSize(long bytes) {
    return new ImageStatus(
        ready, bytes, filledClaim, nodeName, unusedSince, claims, conditions, observedGeneration);
  }

  public ImageStatus withFilledClaim(String uid, @Nullable String node) {
    return new ImageStatus(
        ready, size, uid, node, unusedSince, claims, conditions, observedGeneration);
  }

  public ImageStatus withUnusedSince(@Nullable String time) {
    return new ImageStatus(
        ready, size, filledClaim, nodeName, time, claims, conditions, observedGeneration);
  }

  public ImageStatus withReady(boolean now, List<Condition> said, @Nullable Long generation) {
    return new ImageStatus(now, size, filledClaim, nodeName, unusedSince, claims, said, generation);
  }

  public ImageStatus withClaims(List<FilledClaim> others) {
    return new ImageStatus(
        ready, size, filledClaim, nodeName, unusedSince, others, conditions, observedGeneration);
  }
}
