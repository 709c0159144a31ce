package dev.platter.image.oci;

import java.io.IOException;
import java.io.InputStream;

/** Where one repository's images come from: a layout on disk, or a registry. */
public interface BlobSource {

  /** The image that {@code tagOrDigest} names now, for {@code wanted} if there are several. */
  Resolved resolve(String tagOrDigest, Platform wanted) throws IOException;

  default Resolved resolve(String tagOrDigest) throws IOException {
    return resolve(tagOrDigest, Platform.LINUX_AMD64);
  }

  /**
   * The bytes of a blob. Size and digest are checked on the way: who has read to the end, has read
   * what the descriptor names.
   */
  InputStream open(Descriptor blob) throws IOException;

  /**
   * Exactly these bytes of a blob, at least one. Their digest is not checked: who reads parts has
   * to know the digests of the parts.
   */
  InputStream open(Descriptor blob, long from, long length) throws IOException;
}
