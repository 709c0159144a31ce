package dev.platter.plan;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Which image was written to a claim, or is being written. It is kept outside of the disk's bytes,
 * and is there before the first of them: so who finds bytes and no record knows that they are
 * somebody else's, and who finds a record that is not complete knows that nobody has used the disk.
 *
 * @param image the reference that somebody wrote, or where else the disk came from
 * @param digest of the image, or of the file that the disk came in; empty while only its end tells
 * @param refill the words of the claim that had it written, the newest last, see {@link
 *     dev.platter.model.Fill}; there are spaces between them
 * @param disk which disk that was: of a file its inode, of a device its size. A record beside
 *     another disk lets nobody write over it
 * @param complete whether all bytes are on the disk
 */
public record FillRecord(
    String image, String digest, String refill, String disk, boolean complete) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST = 4096;
  private static final int MOST_WORDS = 16;

  public FillRecord {
    requireNonNull(image);
    requireNonNull(refill);
    requireNonNull(disk);
    var unknown = digest.isEmpty() && !complete;
    if (!unknown && !digest.matches("sha256:[0-9a-f]{64}")) {
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

  /** Whether a word of the claim has been followed. */
  public boolean followed(String word) {
    return List.of(refill.split(" ")).contains(word);
  }

  /** The words that were followed, and another; the oldest are forgotten. */
  public String refillWith(String word) {
    var words = new ArrayList<>(List.of(refill.split(" ")));
    words.removeIf(each -> each.isEmpty() || each.equals(word));
    words.add(word);
    return String.join(" ", words.subList(Math.max(0, words.size() - MOST_WORDS), words.size()))
        .strip();
  }

  public FillRecord completed() {
    return completed(digest);
  }

  public FillRecord completed(String found) {
    return new FillRecord(image, found, refill, disk, true);
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
