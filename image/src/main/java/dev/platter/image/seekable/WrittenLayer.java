package dev.platter.image.seekable;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.MediaTypes;
import org.jspecify.annotations.Nullable;

/**
 * A layer that was written.
 *
 * @param digest of the blob
 * @param size of the blob
 * @param diffId digest of the tar in it
 * @param uncompressedSize of the tar in it
 * @param tocDigest of the JSON document that the table of contents is
 * @param toc where in the blob the table of contents is
 * @param virtualSize of the disk
 * @param chunkSize of all chunks but the last
 * @param bootPrefix how many bytes at the front of the blob hold all chunks with tables and with
 *     the boot order
 * @param bootTrace digest of the trace that the boot order came from, null if there was none
 */
public record WrittenLayer(
    Digest digest,
    long size,
    Digest diffId,
    long uncompressedSize,
    Digest tocDigest,
    TocPosition toc,
    long virtualSize,
    int chunkSize,
    long bootPrefix,
    @Nullable Digest bootTrace) {

  /** What a manifest says of the layer, with {@link LayerAnnotations}; and what its config says. */
  public Layer layer() {
    return new Layer(
        new Descriptor(MediaTypes.OCI_LAYER_GZIP, digest, size, LayerAnnotations.of(this), null),
        diffId);
  }
}
