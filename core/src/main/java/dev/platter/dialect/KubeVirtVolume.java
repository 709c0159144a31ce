package dev.platter.dialect;

import dev.platter.model.ByteSize;
import dev.platter.model.CloudInit;
import dev.platter.model.CopyMode;
import dev.platter.model.Source;
import org.jspecify.annotations.Nullable;

/** What an entry of KubeVirt's {@code volumes} means to the disk of its name. */
sealed interface KubeVirtVolume {
  /**
   * Bytes of a disk.
   *
   * @param size of the local file; null leaves it to the source
   * @param keep whether the local file outlives a stop
   */
  record Bytes(
      Source source, CopyMode copy, @Nullable ByteSize size, boolean keep, boolean readOnly)
      implements KubeVirtVolume {
    static Bytes inPlace(Source source, boolean readOnly) {
      return new Bytes(source, CopyMode.NONE, null, false, readOnly);
    }
  }

  /** What cloud-init is told; that disk is always the last. */
  record Seed(CloudInit cloudInit) implements KubeVirtVolume {}
}
