package dev.platter.registry;

import dev.platter.image.oci.Descriptor;

/** Told how far a push has come, from the threads that push. */
public interface PushProgress {
  PushProgress NONE = (blob, bytes) -> {};

  /**
   * The registry has {@code bytes} of {@code blob.size()}; all of them at once if it had them
   * before. Goes back when an upload has to start again.
   */
  void sent(Descriptor blob, long bytes);
}
