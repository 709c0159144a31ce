package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * How far one claim is that gets its disk from a {@link ClaimSource}.
 *
 * @param name the claim's
 * @param uid the claim's: another claim of the name is another one
 * @param progress how much of the file has come, such as {@code 42%}
 * @param pod the pod that fills it; null if there is none
 * @param digest of the file or the image that came; null before all of it has
 * @param attempts how often it has failed
 * @param retryAt when it is tried again, RFC 3339
 * @param reason the word of a {@link Reason}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_NULL)
public record FilledClaim(
    String name,
    String uid,
    @Nullable FillPhase phase,
    @Nullable String progress,
    @Nullable String pod,
    @Nullable String digest,
    @Nullable Integer attempts,
    @Nullable String retryAt,
    @Nullable String reason,
    @Nullable String message) {

  /** Of a claim that nothing was done for. */
  public static FilledClaim of(String name, String uid) {
    return new FilledClaim(name, uid, null, null, null, null, null, null, null, null);
  }

  public FilledClaim at(FillPhase next, Reason why, String text) {
    return new FilledClaim(
        name, uid, next, progress, pod, digest, attempts, retryAt, why.word(), text);
  }

  public FilledClaim withPod(@Nullable String other, @Nullable String much) {
    return new FilledClaim(
        name, uid, phase, much, other, digest, attempts, retryAt, reason, message);
  }

  public FilledClaim withDigest(@Nullable String found) {
    return new FilledClaim(
        name, uid, phase, progress, pod, found, attempts, retryAt, reason, message);
  }

  /** It failed once more. */
  public FilledClaim withFailure(String again) {
    var times = attempts == null ? 1 : attempts + 1;
    return new FilledClaim(name, uid, phase, null, pod, null, times, again, reason, message);
  }

  /** Nobody waits for another attempt. */
  public FilledClaim withoutRetry() {
    return new FilledClaim(
        name, uid, phase, progress, pod, digest, attempts, null, reason, message);
  }
}
