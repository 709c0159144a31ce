package dev.platter.image.lazy;

import dev.platter.image.ChunkedFile;
import dev.platter.image.oci.Descriptor;

/** How the disk of an image can be read. */
public sealed interface DiskLocation {
  /** The number of the layer in the manifest, 0 is the lowest. */
  int position();

  Descriptor layer();

  /**
   * In chunks, in any order.
   *
   * @param name of the disk in the image; where that is a hard link, the file has another
   */
  record Chunked(int position, Descriptor layer, ChunkedFile file, String name)
      implements DiskLocation {}

  /**
   * This layer has to be read from its first to its last byte: it has the disk, or what is in it
   * decides where the disk is.
   */
  record Streamed(int position, Descriptor layer) implements DiskLocation {}
}
