package dev.platter.image.seekable;

/** Told how far the writing of a layer has come, from the thread that writes it. */
@FunctionalInterface
public interface PackProgress {
  PackProgress NONE = (done, total) -> {};

  /** {@code done} of {@code total} bytes of the disk file are packed and written. */
  void packed(long done, long total);
}
