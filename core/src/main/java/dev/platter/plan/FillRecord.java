package dev.platter.plan;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.Optional;

/**
 * Which image was written to a claim, or is being written. It is kept outside of the disk's bytes,
 * and is there before the first of them: so who finds bytes and no record knows that they are
 * somebody else's, and who finds a record that is not complete knows that nobody has used the disk.
 *
 * @param image the reference that somebody wrote
 * @param refill the last word of the claim that had it written, see {@link dev.platter.model.Fill}
 * @param disk which disk that was: of a file its inode, of a device its size. A record beside
 *     another disk lets nobody write over it
 * @param complete whether all bytes are on the disk
 */
public record FillRecord(
    String image, String digest, String refill, String disk, boolean complete) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST = 4096;

  public FillRecord {
    if (!digest.matches("sha256:[0-9a-f]{64}")) {
      throw new IllegalArgumentException("not a digest");
    }
  }

  /** Empty if the text is. It may have been anybody who wrote it. */
  public static Optional<FillRecord> parse(String text) {
    if (text.isEmpty()) {
      return Optional.empty();
    }
    try {
      if (text.length() > MOST) {
        throw new IllegalArgumentException("more than " + MOST + " characters");
      }
      return Optional.of(JSON.readValue(text, FillRecord.class));
    } catch (JsonProcessingException | RuntimeException e) {
      throw PlatterException.of(
          Code.REFUSED,
          "the record of the image on a claim cannot be read",
          "Who changed it? Without it the claim counts as somebody else's, and is left alone.",
          e);
    }
  }

  public FillRecord completed() {
    return new FillRecord(image, digest, refill, disk, true);
  }

  public String text() {
    try {
      return JSON.writeValueAsString(this);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a record always makes JSON", e);
    }
  }

  /**
   * @param what holds the first half of an image
   */
  public PlatterException half(String what) {
    return PlatterException.of(
        Code.REFUSED,
        what + " holds a part of the image " + image + "; its copy was cut short",
        "Start a VM that has the image with persistent: CLAIM, and it is written again.");
  }
}
