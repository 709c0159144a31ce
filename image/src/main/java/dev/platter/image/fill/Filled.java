package dev.platter.image.fill;

import dev.platter.image.Digest;

/**
 * What was brought.
 *
 * @param size of the disk
 * @param fileSize how many bytes came, packed as they were
 * @param digest of these
 */
public record Filled(Format format, long size, long fileSize, Digest digest) {}
