package dev.platter.block.base;

import org.jspecify.annotations.Nullable;

/**
 * How far a base is.
 *
 * @param virtualSize of the disk in bytes
 * @param blocks of 64 KiB
 * @param bytesFetched that the network has carried since the base was opened
 * @param bytesDeduplicated of the disk that another base had
 * @param lastError what the last attempt to get bytes failed with; null if it succeeded
 */
public record BaseStatus(
    long virtualSize,
    BlockCounts blocks,
    long bytesFetched,
    long bytesDeduplicated,
    @Nullable String lastError) {}
