package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;

/** What else a partition may hold, for a message that helps. */
enum Signature {
  XFS("XFS", 0, "XFSB"),
  BTRFS("Btrfs", 0x10040, "_BHRfS_M"),
  LVM("an LVM volume", 536, "LVM2 001"),
  LUKS("an encrypted volume (LUKS)", 0, "LUKS\u00ba\u00be"),
  SQUASHFS("SquashFS", 0, "hsqs"),
  NTFS("NTFS", 3, "NTFS    "),
  FAT32("FAT", 82, "FAT32   "),
  FAT("FAT", 54, "FAT1"),
  ISO("ISO 9660", 0x8001, "CD001"),
  SWAP("swap", 4086, "SWAPSPACE2");

  private final String text;
  private final int offset;
  private final String magic;

  Signature(String text, int offset, String magic) {
    this.text = text;
    this.offset = offset;
    this.magic = magic;
  }

  static String at(ByteSource disk, long start) throws IOException {
    for (Signature signature : values()) {
      byte[] found = new byte[signature.magic.length()];
      if (disk.readAvailable(ByteBuffer.wrap(found), start + signature.offset)
          && signature.magic.equals(new String(found, ISO_8859_1))) {
        return signature.text;
      }
    }
    return "something unknown";
  }
}
