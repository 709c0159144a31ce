package dev.platter.node.image;

import dev.platter.image.oci.BlobSource;
import java.io.IOException;

/** Finds where an image comes from by its reference. */
public interface ImageSources {
  /**
   * @param source where the image's blobs are
   * @param tagOrDigest what names it there
   */
  record Located(BlobSource source, String tagOrDigest) {}

  Located find(String reference) throws IOException;
}
