package dev.platter.node.container;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Where the service of a volume is.
 *
 * @param volume its name in requests
 * @param root the service's URL, without a path
 * @param probe path that answers with 200 to 399 when the service is ready; null if any answer at
 *     all means that
 */
public record VolumeEndpoint(String volume, URI root, @Nullable String probe) {
  URI address() {
    return root.resolve("/volume");
  }

  /** What is asked to learn whether the service is ready. */
  URI readiness() {
    return probe == null ? address() : root.resolve(probe);
  }

  boolean encrypted() {
    return "https".equals(root.getScheme());
  }
}
