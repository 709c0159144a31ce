package dev.platter.node.image;

import dev.platter.image.oci.BlobSource;
import java.io.IOException;

/** Finds where an image comes from by its reference. */
public interface ImageSources {
  /**
   * @param source where the image's blobs are
   * @param tagOrDigest what names it there
   * @param name of the image that means the same to every process, whatever its directory and
   *     settings
   */
  record Located(BlobSource source, String tagOrDigest, String name) {}

  Located find(String reference) throws IOException;
}
