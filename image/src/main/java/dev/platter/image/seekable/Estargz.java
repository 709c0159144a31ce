package dev.platter.image.seekable;

/** Names and limits of the format that its writer and its reader share. */
final class Estargz {
  static final String TOC = "stargz.index.json";

  /** Tells lazy snapshotters to prefetch nothing: they cannot know which part of a disk matters. */
  static final String LANDMARK = ".no.prefetch.landmark";

  static final byte[] LANDMARK_CONTENT = {0xf};

  static final int FOOTER_SIZE = 51;

  /** What other writers use by default; more would have to be fetched and held for any one byte. */
  static final int MAX_CHUNK = 4 << 20;

  /** With chunks of 256 KiB 128 GiB of data; bounds the memory of a reader to about 100 MB. */
  static final int MAX_CHUNKS = 1 << 19;

  static final long MAX_TOC_JSON = 256 << 20;
  static final int MAX_TOC_MEMBER = 128 << 20;

  private Estargz() {}
}
