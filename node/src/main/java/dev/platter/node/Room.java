package dev.platter.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What is left of the file systems that files of VMs lie on. */
final class Room {
  /**
   * With less a guest would stand still again after its next writes. ext4 keeps up to 16 MiB that
   * nobody gets, be it root, and counts them as free.
   */
  private static final long RESERVE = 48L << 20;

  /** Where there is less, guests may be about to stand still. */
  static final long SHORT = 512L << 20;

  private Room() {}

  /**
   * Whether a guest can go on that found no room. What is kept back for root counts: QEMU may be
   * root. If it is not, it only tries in vain.
   */
  static boolean isBack(Path file) {
    try {
      var store = Files.getFileStore(file);
      return store.getUnallocatedSpace() >= Math.min(RESERVE, store.getTotalSpace() / 20);
    } catch (IOException e) {
      return true; // Who cannot be asked is tried.
    }
  }

  static boolean isShort(Path file) {
    try {
      return Files.getFileStore(file).getUsableSpace() < SHORT;
    } catch (IOException e) {
      return false;
    }
  }
}
