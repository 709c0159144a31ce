package dev.platter.node.volumes;

import java.util.List;

/** As what a volume is used. */
public sealed interface Use {
  /** A block device. */
  record Block() implements Use {}

  /**
   * A directory.
   *
   * @param type {@code ext4} or {@code xfs}, for a volume that has no file system yet
   * @param options of mount(8)
   */
  record Directory(String type, List<String> options) implements Use {
    public Directory {
      options = List.copyOf(options);
    }
  }
}
