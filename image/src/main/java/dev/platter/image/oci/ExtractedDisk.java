package dev.platter.image.oci;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * The disk file of an image, verified, in a file of its own that belongs to the caller.
 *
 * @param name the file's name in the image
 */
public record ExtractedDisk(Path file, String name, Format format) {

  /** How the bytes are to be understood. */
  public enum Format {
    RAW,
    QCOW2;

    private static final int QCOW2_MAGIC = 0x514649fb;

    /** By the first bytes of the file. */
    public static Format of(byte[] head) {
      boolean qcow2 = head.length >= 4 && ByteBuffer.wrap(head).getInt() == QCOW2_MAGIC;
      return qcow2 ? QCOW2 : RAW;
    }
  }
}
