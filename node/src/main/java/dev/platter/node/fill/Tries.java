package dev.platter.node.fill;

import dev.platter.image.Digest;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.node.FillTarget;
import java.io.IOException;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes a disk, or unpacks an archive, to a target, from the start each time.
 *
 * @param format what the file is, whatever it looks like
 * @param expected the digest of the file
 */
record Tries(
    FillTarget target, @Nullable Format format, Optional<Digest> expected, LongConsumer progress) {
  /** Brings the bytes. */
  @FunctionalInterface
  interface Bytes {
    Filled into(Fill fill) throws IOException;
  }

  Filled once(Bytes bytes) throws IOException {
    try (var fill = target.open(format, expected, progress)) {
      return bytes.into(fill);
    }
  }
}
