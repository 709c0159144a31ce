package dev.platter.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A guest that says one line and halts: a boot sector. Without KVM a guest that goes on would take
 * the processors from what is measured, the more of them the more.
 */
final class OneLineGuest {
  private static final int DISK = 1 << 20;
  private static final int SECTOR = 512;

  private static final byte[] CODE = {
    (byte) 0xFC, // cld
    0x31,
    (byte) 0xC0, // xor ax, ax
    (byte) 0x8E,
    (byte) 0xD8, // mov ds, ax
    (byte) 0xBE,
    0x17,
    0x7C, // mov si, text, which follows this code
    (byte) 0xBA,
    (byte) 0xF8,
    0x03, // mov dx, the first serial port
    (byte) 0xAC, // next: lodsb
    (byte) 0x84,
    (byte) 0xC0, // test al, al
    0x74,
    0x03, // jz end
    (byte) 0xEE, // out dx, al
    (byte) 0xEB,
    (byte) 0xF8, // jmp next
    (byte) 0xFA, // end: cli
    (byte) 0xF4, // hlt
    (byte) 0xEB,
    (byte) 0xFC, // jmp end
  };

  private OneLineGuest() {}

  /** Writes its disk. */
  static Path write(Path file) throws IOException {
    var disk = ByteBuffer.allocate(DISK);
    disk.put(CODE).put("The guest runs.\r\n\0".getBytes(StandardCharsets.US_ASCII));
    disk.putShort(SECTOR - 2, (short) 0x55AA);
    return Files.write(file, disk.array());
  }
}
