package dev.platter.image.qcow2;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.platter.image.Digest;
import dev.platter.image.raw.SparseWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * An overlay whose clusters come one after another, maybe in several attempts. It is known from the
 * start which there will be, so each has its place; the tables are written last, and until then the
 * file is no disk.
 *
 * <p>A mark in the first cluster, behind all that a header can have, says which clusters the file
 * is for. A file with another mark is begun anew. What one with this mark holds is for the caller
 * to judge: nothing is synced before the end, so after a power cut there may be holes in it.
 */
public final class OverlayAssembly implements Closeable {
  private static final int CLUSTER = OverlayLayout.CLUSTER;
  private static final int MARK = CLUSTER / 2;
  private static final byte[] WORD = "Platter overlay of ".getBytes(US_ASCII);

  private final FileChannel file;
  private final long size;
  private final long[] addresses;
  private final OverlayLayout layout;

  /** From here on the file has only holes. */
  private final long fresh;

  private OverlayAssembly(FileChannel file, long size, long[] addresses) throws IOException {
    this.file = file;
    this.size = size;
    this.addresses = addresses;
    this.layout = OverlayLayout.of(size, addresses);
    var mark = mark();
    var found = ByteBuffer.allocate(mark.remaining());
    for (var n = 0; n >= 0 && found.hasRemaining(); ) {
      n = file.read(found, MARK + found.position());
    }
    if (!found.flip().equals(mark)) {
      file.truncate(0);
      write(mark, MARK);
    }
    this.fresh = file.size();
  }

  /**
   * @param virtualSize in bytes, rounded up to a multiple of 512
   * @param addresses of its clusters, ascending
   */
  public static OverlayAssembly open(Path path, long virtualSize, long[] addresses)
      throws IOException {
    var size = Qcow2Overlay.diskSize(virtualSize);
    Qcow2Overlay.check(addresses, size);
    var file = FileChannel.open(path, CREATE, READ, WRITE);
    try {
      return new OverlayAssembly(file, size, addresses.clone());
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  private ByteBuffer mark() {
    var digest = Digest.sha256();
    var buffer = ByteBuffer.allocate(CLUSTER).putLong(size);
    for (var address : addresses) {
      if (!buffer.hasRemaining()) {
        digest.update(buffer.flip());
        buffer.clear();
      }
      buffer.putLong(address);
    }
    digest.update(buffer.flip());
    return ByteBuffer.allocate(WORD.length + digest.getDigestLength())
        .put(WORD)
        .put(digest.digest())
        .flip();
  }

  /** So many of its clusters, the first ones, may have been written by an earlier attempt. */
  public int present() {
    var bytes = fresh - layout.firstData() * CLUSTER;
    return Math.clamp(Math.ceilDiv(bytes, (long) CLUSTER), 0, addresses.length);
  }

  /** Reads clusters by their numbers, as many as there is room for; what is missing is zeros. */
  public void read(int first, ByteBuffer into) throws IOException {
    for (var at = position(first); into.hasRemaining(); ) {
      var n = file.read(into, at);
      if (n < 0) {
        into.put(new byte[into.remaining()]);
      } else {
        at += n;
      }
    }
  }

  /** Writes whole clusters, of which this is the number of the first. */
  public void write(int first, ByteBuffer clusters) throws IOException {
    var at = position(first);
    if (at >= fresh) {
      SparseWriter.write(file, clusters, at);
    } else {
      write(clusters, at);
    }
  }

  private long position(int number) {
    return (layout.firstData() + number) * CLUSTER;
  }

  private void write(ByteBuffer bytes, long position) throws IOException {
    for (var at = position; bytes.hasRemaining(); ) {
      at += file.write(bytes, at);
    }
  }

  /** Has what was written so far on the disk; so the sync at the end has little left to do. */
  public void sync() throws IOException {
    file.force(false);
  }

  /**
   * All clusters are there: makes a disk of the file, and syncs it.
   *
   * @param backing what is read elsewhere, zeros if null
   */
  public void finish(Qcow2Overlay.@Nullable Backing backing) throws IOException {
    Qcow2Overlay.describe(file, backing, size, layout, addresses);
    file.force(true);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
