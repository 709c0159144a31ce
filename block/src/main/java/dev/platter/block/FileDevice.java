package dev.platter.block;

import dev.platter.image.raw.NativeFile;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A disk in a raw file. Holes of the file are holes of the disk.
 *
 * <p>Looking for the end of a run of data can cost as much as the run is long (tmpfs looks at every
 * page), so the last run found is remembered. That is right even if others write: what was data may
 * be called data for ever, only holes may not be remembered.
 *
 * <p>Left out: telling what is in the page cache from what has to come from the disk before bytes
 * are transferred. Large reads of one connection wait for the disk one after the other.
 */
public final class FileDevice implements BlockDevice {
  private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 20).asReadOnlyBuffer();

  private final NativeFile file;
  private final FileChannel channel;
  private final boolean readOnly;
  private final long size;
  private volatile @Nullable Run lastData;

  private record Run(long start, long end) {}

  private FileDevice(NativeFile file, boolean readOnly) throws IOException {
    this.file = file;
    this.channel = file.channel();
    this.readOnly = readOnly;
    this.size = channel.size();
  }

  public static FileDevice openReadOnly(Path path) throws IOException {
    return new FileDevice(NativeFile.open(regular(path)), true);
  }

  /** The file keeps its size: a disk does not grow by being written to. */
  public static FileDevice openToWrite(Path path) throws IOException {
    return new FileDevice(NativeFile.openToWrite(regular(path)), false);
  }

  /** Opening a pipe would wait for its other end. */
  private static Path regular(Path path) throws IOException {
    if (Files.exists(path) && !Files.isRegularFile(path)) {
      throw new IOException(path + " is not a file");
    }
    return path;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public boolean readOnly() {
    return readOnly;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    for (long at = offset; into.hasRemaining(); ) {
      int n = channel.read(into, at);
      if (n < 0) {
        throw new EOFException("the file was cut to " + at + " bytes while in use");
      }
      at += n;
    }
  }

  @Override
  public boolean readNow(long offset, ByteBuffer into) throws IOException {
    return file.readNow(into, offset);
  }

  @Override
  public void write(long offset, ByteBuffer from) throws IOException {
    try {
      for (long at = offset; from.hasRemaining(); ) {
        at += channel.write(from, at);
      }
    } catch (IOException e) {
      throw noSpaceOr(e);
    }
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) throws IOException {
    try {
      if (mayTrim ? punch(offset, length) : file.zeroRange(offset, length)) {
        return;
      }
    } catch (IOException e) {
      throw noSpaceOr(e);
    }
    for (long done = 0; done < length; ) {
      ByteBuffer zeros = ZEROS.duplicate();
      zeros.limit((int) Math.min(zeros.capacity(), length - done));
      int n = zeros.remaining();
      write(offset + done, zeros);
      done += n;
    }
  }

  @Override
  public void trim(long offset, long length) throws IOException {
    punch(offset, length);
  }

  private boolean punch(long offset, long length) throws IOException {
    boolean punched = file.punchHole(offset, length);
    lastData = null;
    return punched;
  }

  @Override
  public void flush() throws IOException {
    try {
      channel.force(false);
    } catch (IOException e) {
      throw noSpaceOr(e);
    }
  }

  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    List<Extent> runs = new ArrayList<>();
    long end = offset + length;
    for (long at = offset; at < end && runs.size() + 2 <= MOST_EXTENTS; ) {
      Run data = dataFrom(at);
      if (data.start > at) {
        long hole = Math.min(end, data.start) - at;
        runs.add(new Extent(hole, Extent.Kind.HOLE));
        at += hole;
      }
      if (at < end) {
        long run = Math.min(end, data.end) - at;
        runs.add(new Extent(run, Extent.Kind.DATA));
        at += run;
      }
    }
    return runs;
  }

  /** The run of data that a position lies in, else the next one; past the end if there is none. */
  private Run dataFrom(long at) throws IOException {
    Run last = lastData;
    if (last != null && last.start <= at && at < last.end) {
      return last;
    }
    long start = file.nextData(at);
    if (start < 0) {
      return new Run(size, Long.MAX_VALUE);
    }
    // Somebody may have punched a hole there just now.
    Run found = new Run(start, Math.max(start + 1, file.nextHole(start)));
    lastData = found;
    return found;
  }

  @Override
  public long transferTo(long offset, long length, SocketChannel target) throws IOException {
    return channel.transferTo(offset, length, target);
  }

  private static IOException noSpaceOr(IOException e) {
    return NativeFile.isNoSpace(e) ? new NoSpaceException(e) : e;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
