package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The last words of a pod that fills a claim, as the kubelet passes them on.
 *
 * @param digest of what came; null if it failed
 * @param reason the word of a {@link Reason}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_NULL)
public record FillResult(@Nullable String digest, String reason, String message) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The kubelet takes no more than 4096 bytes, and some characters are several. */
  private static final int LONGEST = 900;

  /** Empty if it is not what such a pod writes, as when the kernel ended it. */
  public static Optional<FillResult> parse(@Nullable String text) {
    try {
      return text == null || text.isBlank()
          ? Optional.empty()
          : Optional.ofNullable(JSON.readValue(text, FillResult.class))
              .filter(it -> it.reason != null && it.message != null);
    } catch (JsonProcessingException e) {
      return Optional.empty();
    }
  }

  public String text() {
    var shown = message.length() <= LONGEST ? message : message.substring(0, LONGEST - 1) + "…";
    try {
      return JSON.writeValueAsString(new FillResult(digest, reason, shown));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a result always makes JSON", e);
    }
  }
}
