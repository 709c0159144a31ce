package dev.platter.image;

/**
 * A piece of the disk file that can be fetched, unpacked and verified alone.
 *
 * @param fileOffset where it is in the disk file
 * @param plainSize its bytes in the disk file
 * @param blobOffset where in the layer the bytes start that it is made from; those of neighbours
 *     may overlap
 * @param blobLength bytes of the layer to fetch
 * @param digest of the plain bytes
 */
public record Chunk(
    long fileOffset, int plainSize, long blobOffset, int blobLength, Digest digest) {}
