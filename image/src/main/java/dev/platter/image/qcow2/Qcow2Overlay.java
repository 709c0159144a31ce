package dev.platter.image.qcow2;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Makes an empty qcow2 disk, usually over a base. What takes qemu-img a process and several syncs
 * is four small writes and one sync here, whatever the size of the disk:
 *
 * <pre>
 *   cluster 0   header, name of the backing format, end of extensions, backing file
 *   cluster 1   refcount table: one entry, for
 *   cluster 2   refcount block: a 1 for each cluster of this file
 *   cluster 3.. L1 table, all zero and therefore a hole but for its last byte
 * </pre>
 *
 * The file is made under its final name, which must not exist. There is no temporary name: the
 * caller has written down the name before it calls, and after a crash removes what is there. The
 * sync covers the file; that its directory entry is durable is the caller's concern too.
 */
public final class Qcow2Overlay {
  private static final int CLUSTER_BITS = 16;
  private static final int CLUSTER = 1 << CLUSTER_BITS;
  private static final long L2_COVERAGE = (CLUSTER / 8L) << CLUSTER_BITS;
  private static final int HEADER_LENGTH = 104;
  private static final int EXTENSION_BACKING_FORMAT = 0xE2792ACA;
  private static final int FIRST_L1_CLUSTER = 3;

  /** Where the L1 table reaches the 32 MiB that QEMU opens. */
  private static final long MAX_VIRTUAL_SIZE = (32L << 20) / 8 * L2_COVERAGE;

  /** The size of the disk in an overlay of ours; 0 while it is being written. */
  public static long sizeOf(Path overlay) throws IOException {
    try (var in = new DataInputStream(Files.newInputStream(overlay))) {
      in.skipNBytes(24);
      return in.readLong();
    } catch (EOFException e) {
      return 0;
    }
  }

  /**
   * What is read where the overlay has nothing.
   *
   * @param path as QEMU takes it: relative to the overlay if not absolute, and with a colon before
   *     the first slash it is not a path but a protocol. At most 1023 bytes in UTF-8
   * @param format always stated, so that QEMU never guesses it from what a guest wrote
   */
  public record Backing(String path, String format) {
    private static final int MAX_PATH = 1023;
    private static final int MAX_FORMAT = 15;

    public Backing {
      encode("backing path", path, MAX_PATH);
      encode("backing format", format, MAX_FORMAT);
    }

    private static byte[] encode(String what, String text, int max) {
      try {
        ByteBuffer bytes = UTF_8.newEncoder().encode(CharBuffer.wrap(text));
        if (bytes.remaining() == 0 || bytes.remaining() > max || text.indexOf('\0') >= 0) {
          throw new IllegalArgumentException(
              "%s of %d bytes: it must have 1 to %d and no NUL"
                  .formatted(what, bytes.remaining(), max));
        }
        byte[] encoded = new byte[bytes.remaining()];
        bytes.get(encoded);
        return encoded;
      } catch (CharacterCodingException e) {
        throw new IllegalArgumentException(what + " cannot be written as UTF-8", e);
      }
    }
  }

  private Qcow2Overlay() {}

  /**
   * Makes an overlay. It may be larger than its backing file and then reads as zeros past its end.
   *
   * @param virtualSize in bytes, rounded up to a multiple of 512
   */
  public static void create(Path path, Backing backing, long virtualSize) throws IOException {
    write(path, backing, virtualSize);
  }

  /** Makes a blank disk. */
  public static void create(Path path, long virtualSize) throws IOException {
    write(path, null, virtualSize);
  }

  private static void write(Path path, @Nullable Backing backing, long wanted) throws IOException {
    if (wanted <= 0 || wanted > MAX_VIRTUAL_SIZE) {
      throw new IllegalArgumentException(
          "virtual size %d: it must be 1 to %d".formatted(wanted, MAX_VIRTUAL_SIZE));
    }
    long virtualSize = (wanted + 511) & ~511L;
    int l1Entries = Math.toIntExact(Math.ceilDiv(virtualSize, L2_COVERAGE));
    int clusters = FIRST_L1_CLUSTER + Math.ceilDiv(l1Entries * 8, CLUSTER);
    ByteBuffer header = header(backing, virtualSize, l1Entries);
    ByteBuffer refcountTable = ByteBuffer.allocate(8).putLong(2L * CLUSTER).flip();
    ByteBuffer refcounts = ByteBuffer.allocate(clusters * 2);
    while (refcounts.hasRemaining()) {
      refcounts.putShort((short) 1);
    }
    try (FileChannel file = FileChannel.open(path, CREATE_NEW, WRITE)) {
      write(file, header, 0);
      write(file, refcountTable, CLUSTER);
      write(file, refcounts.flip(), 2L * CLUSTER);
      write(file, ByteBuffer.allocate(1), (long) clusters * CLUSTER - 1);
      file.force(true);
    }
  }

  private static ByteBuffer header(@Nullable Backing backing, long virtualSize, int l1Entries) {
    ByteBuffer h = ByteBuffer.allocate(HEADER_LENGTH + 8 + 16 + 8 + Backing.MAX_PATH);
    h.putInt(Header.MAGIC).putInt(3);
    h.putLong(0).putInt(0); // the backing file, known below
    h.putInt(CLUSTER_BITS);
    h.putLong(virtualSize);
    h.putInt(0); // not encrypted
    h.putInt(l1Entries).putLong((long) FIRST_L1_CLUSTER * CLUSTER);
    h.putLong(CLUSTER).putInt(1); // refcount table
    h.putInt(0).putLong(0); // no snapshots
    h.putLong(0).putLong(0).putLong(0); // no features
    h.putInt(4).putInt(HEADER_LENGTH); // refcounts of 2^4 bits
    if (backing == null) {
      return h.putLong(0).flip();
    }
    byte[] format = Backing.encode("backing format", backing.format, Backing.MAX_FORMAT);
    h.putInt(EXTENSION_BACKING_FORMAT).putInt(format.length).put(format);
    h.position((h.position() + 7) & ~7);
    h.putLong(0);
    byte[] name = Backing.encode("backing path", backing.path, Backing.MAX_PATH);
    h.putLong(8, h.position()).putInt(16, name.length);
    return h.put(name).flip();
  }

  private static void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += file.write(bytes, at);
    }
  }
}
