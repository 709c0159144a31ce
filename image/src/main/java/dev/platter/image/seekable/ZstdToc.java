package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a zstd:chunked layer has its table of contents.
 *
 * @param offset of the packed table in the layer
 * @param length of the packed table
 * @param plainLength of the table
 * @param digest of the packed table
 */
public record ZstdToc(long offset, int length, int plainLength, Digest digest) {
  /** Offset, packed length, length, and the one type that there is. */
  private static final Pattern POSITION =
      Pattern.compile("(\\d{1,15}):(\\d{1,10}):(\\d{1,10}):(\\d{1,3})");

  private static final String CRFS = "1";

  static ZstdToc parse(String position, Digest digest, long blobSize) throws BadImageException {
    Matcher parts = POSITION.matcher(position);
    if (!parts.matches() || !parts.group(4).equals(CRFS)) {
      throw new BadImageException(
          "the manifest puts the table of contents at '"
              + Printable.of(position)
              + "', which is no position of a zstd:chunked layer");
    }
    long offset = Long.parseLong(parts.group(1));
    long length = Long.parseLong(parts.group(2));
    long plain = Long.parseLong(parts.group(3));
    if (offset == 0 || length == 0 || offset + length > blobSize) {
      throw new BadImageException(
          "the manifest puts the table of contents at byte %d with %d bytes, outside of a layer of %d bytes"
              .formatted(offset, length, blobSize));
    }
    if (length > Estargz.MAX_TOC_MEMBER || plain > Estargz.MAX_TOC_JSON) {
      throw new BadImageException(
          "the manifest gives the table of contents %d bytes that unpack to %d, %d and %d are the most"
              .formatted(length, plain, Estargz.MAX_TOC_MEMBER, Estargz.MAX_TOC_JSON));
    }
    return new ZstdToc(offset, (int) length, (int) plain, digest);
  }
}
