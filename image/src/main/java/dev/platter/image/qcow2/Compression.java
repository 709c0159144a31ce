package dev.platter.image.qcow2;

import dev.platter.image.Libdeflate;

/** How compressed clusters are packed, by the number in the header. */
enum Compression {
  /** Raw deflate; 258 bytes for two bits is the most it can say. */
  ZLIB(1032),
  /** Zstandard frames; a run of 128 KiB takes four bytes. */
  ZSTD(32768);

  private final int bestRatio;

  Compression(int bestRatio) {
    this.bestRatio = bestRatio;
  }

  /** No stream that fills a cluster is shorter than this. */
  int shortestStream(int clusterSize) {
    return Math.max(1, clusterSize / bestRatio);
  }

  Decompressor decompressor() {
    return switch (this) {
      case ZLIB -> Libdeflate.isAvailable() ? new LibdeflateDecompressor() : new ZlibDecompressor();
      case ZSTD -> new ZstdDecompressor();
    };
  }
}
