package dev.platter.block.scsi;

import java.nio.ByteBuffer;

/** The 16 bytes that say what to do. */
record Cdb(ByteBuffer bytes) {
  int u8(int at) {
    return bytes.get(at) & 0xff;
  }

  int u16(int at) {
    return bytes.getShort(at) & 0xffff;
  }

  long u32(int at) {
    return bytes.getInt(at) & 0xffffffffL;
  }

  boolean bit(int at, int mask) {
    return (bytes.get(at) & mask) != 0;
  }

  /** Where a command for blocks begins; negative if beyond any disk. */
  long lba() {
    return switch (u8(0) >> 5) {
      case 0 -> ((u8(1) & 0x1fL) << 16) | u16(2);
      case 4 -> bytes.getLong(2);
      default -> u32(2);
    };
  }

  long blocks() {
    return switch (u8(0) >> 5) {
      case 0 -> u8(4) == 0 ? 256 : u8(4);
      case 4 -> u32(10);
      case 5 -> u32(6);
      default -> u16(7);
    };
  }
}
