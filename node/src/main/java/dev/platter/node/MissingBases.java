package dev.platter.node;

import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Since when the images cannot be had that disks lie on which are to come here. One that is away
 * for a moment is waited for: a disk that comes whole takes more time and room, and stays so.
 *
 * <p>Kept in memory only; after a crash the wait begins anew.
 */
final class MissingBases {
  private record Missing(long since, PlatterException why) {}

  private final Map<IdentityKey, Missing> missing = new ConcurrentHashMap<>();

  /** What can only be done with the image. */
  interface Work<T> {
    T get() throws IOException;
  }

  /**
   * Fails until the image was missing for that long.
   *
   * @return empty from then on
   */
  <T> Optional<T> attempt(IdentityKey key, Duration patience, Work<T> work) throws IOException {
    try {
      return Optional.of(work.get());
    } catch (PlatterException e) {
      if (!isMissing(e)) {
        throw e;
      }
      var first = new Missing(System.nanoTime(), e);
      var now = missing.merge(key, first, (old, _) -> new Missing(old.since(), e));
      if (first.since() - now.since() < patience.toNanos()) {
        throw PlatterException.of(e.code(), String.valueOf(e.getMessage()), next(e, patience), e);
      }
      return Optional.empty();
    }
  }

  /** An image that was refused is there, and no disk is to lie on it. */
  static boolean isMissing(PlatterException e) {
    return e.code() == Code.UNAVAILABLE || e.code() == Code.NOT_FOUND;
  }

  private static String next(PlatterException e, Duration patience) {
    var instead =
        "If that does not change for %d seconds, the disk comes with all of its image from the node that has it."
            .formatted(patience.toSeconds());
    return e.next().isEmpty() ? instead : e.next() + " " + instead;
  }

  /** What a source that does not give the disk whole has to be told with. */
  PlatterException refused(IdentityKey key, PlatterException refusal) {
    var why = missing.get(key);
    return why == null
        ? refusal
        : PlatterException.of(
            refusal.code(),
            why.why().getMessage()
                + "; and from the node that has the disk: "
                + refusal.getMessage(),
            refusal.next(),
            refusal);
  }

  void forget(IdentityKey key) {
    missing.remove(key);
  }
}
