package dev.platter.image.oci;

/** Told how far the reading of a layer has come; called from the thread that reads, often. */
@FunctionalInterface
public interface Progress {
  Progress NONE = (layer, bytes) -> {};

  /** {@code bytes} of {@code layer.size()} have been read. */
  void read(Descriptor layer, long bytes);
}
