package dev.platter.image.iso;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The sectors from 16 on that say where everything is. */
final class VolumeDescriptor {
  private static final byte[] IDENTIFIER = "CD001".getBytes(StandardCharsets.US_ASCII);
  private static final String DATE = "2000010100000000";
  private static final String NO_DATE = "0000000000000000";

  private final boolean joliet;
  private final byte[] bytes = new byte[IsoTree.SECTOR];
  private final ByteBuffer sector = ByteBuffer.wrap(bytes);

  private VolumeDescriptor(boolean joliet) {
    this.joliet = joliet;
    start(sector, joliet ? 2 : 1);
  }

  private static void start(ByteBuffer sector, int type) {
    sector.put((byte) type).put(IDENTIFIER).put((byte) 1).put((byte) 0);
  }

  /** Where one tree's path tables are. */
  record PathTables(int size, int littleEndianSector, int bigEndianSector) {}

  static byte[] primary(String label, int sectors, PathTables tables, byte[] root) {
    return new VolumeDescriptor(false).build(label, sectors, tables, root);
  }

  static byte[] joliet(String label, int sectors, PathTables tables, byte[] root) {
    return new VolumeDescriptor(true).build(label, sectors, tables, root);
  }

  static byte[] terminator() {
    byte[] bytes = new byte[IsoTree.SECTOR];
    start(ByteBuffer.wrap(bytes), 255);
    return bytes;
  }

  private byte[] build(String label, int sectors, PathTables tables, byte[] root) {
    text("", 32); // system
    text(label, 32);
    sector.position(80);
    IsoTree.both(sector, sectors);
    if (joliet) {
      sector.put("%/E".getBytes(StandardCharsets.US_ASCII)); // UCS-2, level 3
    }
    sector.position(120);
    both(1);
    both(1);
    both(IsoTree.SECTOR);
    IsoTree.both(sector, tables.size());
    sector.putInt(Integer.reverseBytes(tables.littleEndianSector())).putInt(0);
    sector.putInt(tables.bigEndianSector()).putInt(0);
    sector.put(root);
    for (int i = 0; i < 4; i++) {
      text("", 128); // volume set, publisher, preparer, application
    }
    for (int i = 0; i < 3; i++) {
      text("", 37); // copyright, abstract, bibliography
    }
    for (String date : new String[] {DATE, DATE, NO_DATE, NO_DATE}) {
      sector.put(date.getBytes(StandardCharsets.US_ASCII)).put((byte) 0);
    }
    sector.put((byte) 1);
    return bytes;
  }

  private void both(int value) {
    sector.putShort(Short.reverseBytes((short) value)).putShort((short) value);
  }

  private void text(String text, int length) {
    byte[] field = new byte[length];
    byte[] content;
    if (joliet) {
      for (int i = 1; i < length; i += 2) {
        field[i] = ' ';
      }
      content = text.getBytes(StandardCharsets.UTF_16BE);
    } else {
      Arrays.fill(field, (byte) ' ');
      content = text.getBytes(StandardCharsets.US_ASCII);
    }
    System.arraycopy(content, 0, field, 0, content.length);
    sector.put(field);
  }
}
