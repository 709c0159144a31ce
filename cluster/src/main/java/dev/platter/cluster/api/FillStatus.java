package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How far the claims of a {@link ClaimSource} are. The controller writes it.
 *
 * @param claims those that name it in their {@code dataSourceRef}
 * @param observedSource the version of the object whose disk it has; null if that is its own
 * @param unusedSince since when there is none of them, RFC 3339
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record FillStatus(
    List<FilledClaim> claims,
    List<Condition> conditions,
    @Nullable Long observedGeneration,
    @Nullable String observedSource,
    @Nullable String unusedSince) {
  public static final FillStatus NONE = new FillStatus(List.of(), List.of(), null, null, null);

  // A server may leave out any of them.
  @SuppressWarnings("NullAway")
  public FillStatus {
    claims = claims == null ? List.of() : List.copyOf(claims);
    conditions = conditions == null ? List.of() : List.copyOf(conditions);
  }

  /** What was said of this claim, and not of another that had its name. */
  public FilledClaim of(String name, String uid) {
    return claims.stream()
        .filter(claim -> claim.uid().equals(uid))
        .findFirst()
        .orElseGet(() -> FilledClaim.of(name, uid));
  }
}
