package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.Digest;
import dev.platter.image.archive.VolumeTree;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Unpacks an archive into a volume while it comes: a tar, packed with gzip, xz or zstd or not.
 *
 * <p>Memory, whatever the archive says: 128 MiB to unpack, 64 MiB for what it says of directories.
 * Time is bounded by the bytes that come and the room of the volume. What fails leaves a part of
 * the files: whoever calls this keeps a record of that.
 */
public final class ArchiveFill implements Fill {
  private static final long MOST = 64L << 40;

  /** What file systems take for a file: its blocks, an inode, a name. */
  private static final long BLOCK = 4096;

  private static final long ENTRY = 512;

  private final VolumeTree tree;
  private final long room;
  private final @Nullable Digest expected;
  private final LongConsumer progress;

  /**
   * @param room how many bytes the files may take, -1 for what the file system has
   * @param expected the digest of the file, packed as it is
   * @param progress is told how many bytes of the file have come
   */
  public ArchiveFill(VolumeTree tree, long room, @Nullable Digest expected, LongConsumer progress) {
    this.tree = tree;
    this.room = room < 0 ? MOST : room;
    this.expected = expected;
    this.progress = progress;
  }

  @Override
  public Filled from(InputStream in, long length) throws IOException {
    try (var counted = new Counted(in, progress);
        var plain = Unpacked.open(counted)) {
      long size = unpack(new TarReader(plain));
      plain.finish();
      counted.finish(length);
      Digest digest = counted.digest();
      Counted.require(expected, digest);
      tree.finish();
      return new Filled(Format.TAR, size, counted.count(), digest);
    } catch (EOFException e) {
      throw new BadImageException("the file was cut short: " + e.getMessage(), e);
    }
  }

  @Override
  public Filled from(ByteSource bytes) throws IOException {
    return from(new SourceStream(bytes), bytes.size());
  }

  /** Returns how many bytes the files have. */
  private long unpack(TarReader tar) throws IOException {
    long taken = 0;
    long size = 0;
    boolean any = false;
    for (TarEntry entry = tar.next(); entry != null; entry = tar.next()) {
      taken += ENTRY + blocks(entry);
      if (taken > room) {
        throw TooLarge.archive(entry.name(), room);
      }
      tree.put(entry, tar);
      size += entry.size();
      any = true;
    }
    if (!tar.hasEnd()) {
      throw new BadImageException("the archive was cut short: its end is missing");
    }
    if (!any) {
      throw new BadImageException("there is nothing in the archive");
    }
    return size;
  }

  private static long blocks(TarEntry entry) {
    return entry.type() == TarEntry.Type.DIRECTORY
        ? BLOCK
        : Math.ceilDiv(entry.size(), BLOCK) * BLOCK;
  }

  @Override
  public void close() {
    tree.close();
  }
}
