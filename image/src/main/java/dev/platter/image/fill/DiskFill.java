package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.Digest;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.stream.Canvas;
import dev.platter.image.stream.Forward;
import dev.platter.image.stream.StreamedFormat;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes a disk to a file or a device while its file comes: unpacks, decodes, hashes. The target
 * takes the data alone; where it does not read as zeros it is made to.
 *
 * <p>Memory, whatever the file says: 128 MiB to unpack, 128 MiB for places that are still to come,
 * 64 MiB for bytes whose table is still to come (qcow2) or for the table (VHDX), 12 MiB of buffers.
 * Time is bounded by the bytes that come and the room of the target. What fails leaves a target
 * that must not be used: whoever calls this keeps a record of that.
 */
public final class DiskFill implements Fill {
  private static final long MOST = 64L << 40;

  private final RawTarget target;
  private final long room;
  private final @Nullable Format stated;
  private final @Nullable Digest expected;
  private final LongConsumer progress;

  /**
   * @param room how large the target is, all of which is written or zeros then; -1 for a file that
   *     becomes as large as the disk
   * @param stated the format whatever the file looks like, as it should be for a raw disk that a
   *     guest had
   * @param expected the digest of the file, packed as it is
   * @param progress is told how many bytes of the file have come
   */
  public DiskFill(
      RawTarget target,
      long room,
      @Nullable Format stated,
      @Nullable Digest expected,
      LongConsumer progress) {
    this.target = target;
    this.room = room;
    this.stated = stated;
    this.expected = expected;
    this.progress = progress;
  }

  /**
   * Loads what the machine's libraries do for this. That takes a while, in which who starts a fill
   * may have something else to do.
   */
  public static void prepare() throws IOException {
    var _ = Digest.sha256();
    NativeFile.open(Path.of("/dev/null")).close();
    FileDigest.start().close();
  }

  @Override
  public Filled from(InputStream in, long length) throws IOException {
    try (var counted = new Counted(in, progress);
        var plain = Unpacked.open(counted)) {
      Forward file = Forward.of(plain);
      Format format = stated == null ? Format.of(Format.head(file)) : stated;
      long size = copy(format, file, plain.isPacked() ? -1 : length);
      plain.finish();
      counted.finish(length);
      sync(size); // while the last bytes are hashed
      return finished(format, size, counted.count(), counted.digest());
    } catch (EOFException e) {
      throw new BadImageException("the file was cut short: " + e.getMessage(), e);
    }
  }

  /**
   * The same for a file that can be read at any position: a qcow2 may be in any order, and is
   * unpacked by all processors.
   */
  @Override
  public Filled from(ByteSource bytes) throws IOException {
    Forward file = Forward.of(bytes);
    long length = bytes.size();
    boolean qcow2 = stated == null ? Format.isQcow2(Format.head(file)) : stated == Format.QCOW2;
    return qcow2 ? qcow2(bytes, length) : from(new SourceStream(bytes), length);
  }

  /** It is read twice. What has to have a digest has it before a byte of it is written. */
  private Filled qcow2(ByteSource bytes, long length) throws IOException {
    long size;
    ByteSource meant = expected == null ? bytes : CheckedBytes.of(bytes, expected, progress);
    try (var reader = Qcow2Reader.open(meant, Limits.DEFAULT)) {
      size = reader.virtualSize();
      requireRoom(size);
      double share = (double) length / Math.max(1, size);
      reader.copyTo(target, Math.max(room, size), done -> progress.accept((long) (done * share)));
    }
    sync(size);
    if (expected != null) {
      return finished(Format.QCOW2, size, length, expected);
    }
    try (var hashed = new Counted(new SourceStream(bytes), _ -> {})) {
      hashed.finish(length);
      return finished(Format.QCOW2, size, length, hashed.digest());
    }
  }

  private long copy(Format format, Forward file, long length) throws IOException {
    StreamedFormat disk = format.open(file, length, most(), stated != null);
    long known = disk.virtualSize();
    requireRoom(known);
    target.beginBlank(Math.max(0, room));
    // Only its end tells how large a raw disk is.
    disk.copyTo(new Canvas(target, disk instanceof RawStream ? most() : known));
    long size = disk instanceof RawStream raw ? raw.size() : known;
    requireRoom(size);
    return size;
  }

  private long most() {
    return room >= 0 ? room : MOST;
  }

  private void requireRoom(long size) throws TooLarge {
    if (size > most()) {
      throw new TooLarge(size + " bytes", most());
    }
  }

  private void sync(long size) throws IOException {
    if (size == 0) {
      throw new BadImageException("it is a disk of 0 bytes");
    }
    if (room < 0) {
      target.end(size);
    }
    target.force();
  }

  private Filled finished(Format format, long size, long fileSize, Digest digest)
      throws BadImageException {
    Counted.require(expected, digest);
    return new Filled(format, size, fileSize, digest);
  }

  @Override
  public void close() throws IOException {
    target.close();
  }
}
