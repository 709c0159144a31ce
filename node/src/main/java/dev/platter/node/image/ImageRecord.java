package dev.platter.node.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of an image.
 *
 * @param digest of the image's manifest
 * @param reference what it was pulled as
 * @param file the disk's name in the image
 * @param format how the disk lay in the image
 * @param virtualSize the size of the disk that a guest sees
 * @param state whether its base can be used as a file
 * @param why an image is in quarantine
 * @param fetched bytes that came over the network
 * @param deduplicated bytes that came from other bases
 * @param pulled when it was first asked for
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ImageRecord(
    String digest,
    String reference,
    String file,
    String format,
    long virtualSize,
    State state,
    @Nullable String why,
    long fetched,
    long deduplicated,
    String pulled) {

  /** What a base is good for. */
  public enum State {
    /** Some blocks are there; the rest is fetched when somebody reads it. */
    LAZY,
    /** All blocks are there, and all digests were right: the file needs nobody any more. */
    SEALED,
    /** What was fetched is not what the image promised. */
    QUARANTINED
  }

  ImageRecord with(State next, @Nullable String reason, long fetchedBytes, long deduplicatedBytes) {
    return new ImageRecord(
        digest,
        reference,
        file,
        format,
        virtualSize,
        next,
        reason,
        fetchedBytes,
        deduplicatedBytes,
        pulled);
  }
}
