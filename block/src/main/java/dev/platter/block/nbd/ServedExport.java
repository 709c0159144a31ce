package dev.platter.block.nbd;

import org.jspecify.annotations.Nullable;

/**
 * What a client and a server have agreed on.
 *
 * @param flags the transmission flags
 * @param structured whether replies to reads are structured
 * @param allocation the number of the context that tells holes from data; null without
 * @param mostBytes the largest read
 */
record ServedExport(
    long size, int flags, boolean structured, @Nullable Integer allocation, int mostBytes) {}
