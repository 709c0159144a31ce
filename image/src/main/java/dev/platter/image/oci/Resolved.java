package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;

/**
 * A tag made certain.
 *
 * @param descriptor digest of the manifest itself, never of an index above it: this is what gets
 *     pinned
 * @param bytes of the manifest, as the digest covers them
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record Resolved(Descriptor descriptor, Manifest manifest, byte[] bytes) {
  private static final int MAX_DEPTH = 4;

  /** Fetches the document with this digest and checks that it has it. */
  @FunctionalInterface
  public interface Fetch {
    byte[] bytes(Descriptor document) throws IOException;
  }

  /** Goes from what a tag names through indexes, if any, down to one image. */
  public static Resolved follow(byte[] document, Platform wanted, Fetch fetch) throws IOException {
    byte[] bytes = document;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
      switch (Document.parse(bytes)) {
        case Manifest manifest -> {
          return new Resolved(
              new Descriptor(manifest.mediaType(), Digest.of(bytes), bytes.length),
              manifest,
              bytes);
        }
        case Index index -> bytes = fetch.bytes(index.select(wanted));
      }
    }
    throw new BadImageException("the image is an index of indexes of indexes");
  }
}
