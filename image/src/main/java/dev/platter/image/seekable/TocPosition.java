package dev.platter.image.seekable;

import dev.platter.image.BadImageException;

/**
 * Where in a layer the gzip member with the table of contents is: between the last chunk and the
 * footer.
 */
public record TocPosition(long offset, int length) {

  static TocPosition of(long offset, long length, long blobSize, String source)
      throws BadImageException {
    if (offset <= 0 || length <= 0 || offset > blobSize - Estargz.FOOTER_SIZE - length) {
      throw new BadImageException(
          "%s puts the table of contents at byte %d with %d bytes, outside of a layer of %d bytes"
              .formatted(source, offset, length, blobSize));
    }
    if (length > Estargz.MAX_TOC_MEMBER) {
      throw new BadImageException(
          "%s gives the table of contents %d bytes, %d is the most"
              .formatted(source, length, Estargz.MAX_TOC_MEMBER));
    }
    return new TocPosition(offset, (int) length);
  }
}
