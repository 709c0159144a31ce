package dev.platter.image.oci;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A layer as an image names it: the blob in its manifest, the tar before compression in its config.
 */
public record Layer(Descriptor descriptor, Digest diffId) {

  /** Something that can be written as a layer. */
  @FunctionalInterface
  public interface Content {
    /** Writes the blob and describes what was written; the stream stays open. */
    Layer writeTo(OutputStream out) throws IOException;
  }
}
