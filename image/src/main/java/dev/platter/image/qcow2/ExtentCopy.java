package dev.platter.image.qcow2;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Writes stretches of the disk to their places in the target, except for what {@link ExtentShare}
 * has shared, the cheapest way that there is: what lies in a file as it is, is written out of the
 * page cache without being copied into this process first; what is packed is unpacked right into
 * the buffer that is written, several clusters at once. Belongs to one thread.
 */
final class ExtentCopy implements ExtentVisitor {
  /** Below this, mapping a range costs more than copying it. */
  private static final int WORTH_MAPPING = 128 << 10;

  /** Enough for long writes, and what was unpacked is still in the processor's cache. */
  private static final int BATCH = 512 << 10;

  private final Tables tables;
  private final @Nullable NativeFile file;
  private final Workspace workspace;
  private final RawTarget target;
  private final long sharedTo;

  private @Nullable ByteBuffer batch;
  private long batchGuest;

  /**
   * @param sharedTo see {@link ExtentShare#end}
   */
  ExtentCopy(
      Tables tables,
      @Nullable NativeFile file,
      Workspace workspace,
      RawTarget target,
      long sharedTo) {
    this.tables = tables;
    this.file = file;
    this.workspace = workspace;
    this.target = target;
    this.sharedTo = sharedTo;
  }

  @Override
  public void zero(long guest, long length) throws IOException {
    target.zero(guest, length);
  }

  @Override
  public void data(long guest, long host, long length) throws IOException {
    flush();
    long inFile = Math.clamp(tables.fileSize - host, 0, length);
    ExtentShare.Part shared = ExtentShare.Part.shared(guest, host, guest < sharedTo ? inFile : 0);
    write(guest, host, shared.from());
    write(guest + shared.to(), host + shared.to(), inFile - shared.to());
    if (inFile < length) {
      target.zero(guest + inFile, length - inFile);
    }
  }

  private void write(long guest, long host, long length) throws IOException {
    if (file != null && length >= WORTH_MAPPING) {
      writeMapped(file, guest, host, length);
    } else {
      copy(guest, host, length);
    }
  }

  private void writeMapped(NativeFile source, long guest, long host, long length)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      target.write(source.map(host, length, arena).asByteBuffer(), guest);
    } catch (InternalError e) {
      throw new IOException("the image became shorter while it was copied", e);
    }
  }

  private void copy(long guest, long host, long length) throws IOException {
    for (long at = 0; at < length; ) {
      ByteBuffer buffer = workspace.copyBuffer();
      int n = (int) Math.min(buffer.capacity(), length - at);
      tables.file.readFully(buffer.limit(n), host + at);
      target.write(buffer.flip(), guest + at);
      at += n;
    }
  }

  @Override
  public void compressed(long guest, long host, int length) throws IOException {
    int cluster = tables.header.clusterSize();
    ByteBuffer out = batch;
    if (out != null && (batchGuest + out.position() != guest || out.position() + cluster > BATCH)) {
      flush();
      out = null;
    }
    if (out == null) {
      out = workspace.copyBuffer();
      batch = out;
      batchGuest = guest;
    }
    workspace.unpack(host, length, out.limit(out.position() + cluster));
  }

  /** Writes what was unpacked and not yet written. To be called after each walk. */
  void flush() throws IOException {
    ByteBuffer out = batch;
    if (out == null) {
      return;
    }
    batch = null;
    out.flip();
    out.limit((int) Math.min(out.limit(), tables.header.virtualSize() - batchGuest));
    target.write(out, batchGuest);
  }
}
