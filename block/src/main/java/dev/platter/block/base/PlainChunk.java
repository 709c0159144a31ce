package dev.platter.block.base;

import org.jspecify.annotations.Nullable;

/** The verified bytes of a chunk, and the base that had them if they were not fetched. */
final class PlainChunk {
  private final byte[] bytes;
  private final KnownChunks.@Nullable Known origin;

  PlainChunk(byte[] bytes, KnownChunks.@Nullable Known origin) {
    this.bytes = bytes;
    this.origin = origin;
  }

  /** Not to be changed. */
  byte[] bytes() {
    return bytes;
  }

  /** How to share the block at an offset of the chunk; null if it was fetched. */
  DiskFile.@Nullable Sharing sharing(int offset) {
    KnownChunks.Known found = origin;
    return found == null ? null : (target, at) -> found.cloneBlock(offset, target, at);
  }
}
