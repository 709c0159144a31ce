package dev.platter.image.seekable;

import dev.platter.image.oci.Digest;

/**
 * A piece of the disk file that can be fetched, unpacked and verified alone.
 *
 * @param fileOffset where it is in the disk file
 * @param plainSize its bytes in the disk file
 * @param blobOffset where its gzip member starts in the layer
 * @param blobLength bytes of the layer to fetch; in layers of others they may be a few more than
 *     the member
 * @param digest of the plain bytes
 */
public record Chunk(
    long fileOffset, int plainSize, long blobOffset, int blobLength, Digest digest) {}
