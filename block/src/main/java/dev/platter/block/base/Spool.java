package dev.platter.block.base;

import dev.platter.image.oci.Descriptor;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The bytes of a layer that were fetched so far, each at its place, so that none has to be fetched
 * twice and the whole can be hashed in the end. They are not known to be right: who takes them out
 * has to verify them, and calls {@link #forget} if they are wrong.
 *
 * <p>Which bytes are there is remembered in a log of runs, each with a checksum. A run is logged
 * after its bytes are on the disk. A log that ends in the middle of a run, or is of another layer,
 * loses runs and nothing else: they are fetched again.
 */
final class Spool implements Closeable {
  private static final long MAGIC = 0x504c545350303031L; // PLTSP001
  private static final int HEADER = 8 + 32 + 8;
  private static final int RECORD = 8 + 8 + 8;

  private final FileChannel data;
  private final FileChannel log;
  private final byte[] layer;
  private final long size;
  private final Ranges present = new Ranges();
  private final Ranges fresh = new Ranges();
  private final Object flushing = new Object();
  private long logEnd;

  private Spool(FileChannel data, FileChannel log, Descriptor layer) throws IOException {
    this.data = data;
    this.log = log;
    this.layer = layer.digest().bytes();
    this.size = layer.size();
    load();
  }

  static Spool open(BaseFiles files, Descriptor layer) throws IOException {
    FileChannel data = open(files.layer());
    try {
      FileChannel log = open(files.layerMap());
      try {
        return new Spool(data, log, layer);
      } catch (Throwable e) {
        log.close();
        throw e;
      }
    } catch (Throwable e) {
      data.close();
      throw e;
    }
  }

  private static FileChannel open(Path path) throws IOException {
    return FileChannel.open(
        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  private void load() throws IOException {
    ByteBuffer header = header();
    ByteBuffer found = ByteBuffer.allocate(HEADER);
    Fully.read(log, found, 0);
    if (!found.flip().equals(header.duplicate())) {
      log.truncate(0);
      Fully.write(log, header, 0);
      logEnd = HEADER;
      return;
    }
    ByteBuffer record = ByteBuffer.allocate(RECORD);
    long at = HEADER;
    for (; Fully.read(log, record.clear(), at); at += RECORD) {
      long from = record.flip().getLong();
      long to = record.getLong();
      if (record.getLong() != checksum(from, to) || from < 0 || to <= from || to > size) {
        break;
      }
      present.add(new Range(from, to));
    }
    log.truncate(at);
    logEnd = at;
  }

  private ByteBuffer header() {
    return ByteBuffer.allocate(HEADER).putLong(MAGIC).put(layer).putLong(size).flip();
  }

  private long checksum(long from, long to) {
    var crc = new CRC32C();
    crc.update(layer);
    crc.update(ByteBuffer.allocate(16).putLong(from).putLong(to).flip());
    return crc.getValue();
  }

  long size() {
    return size;
  }

  synchronized boolean has(Range range) {
    return present.contains(range);
  }

  synchronized List<Range> missing(Range range) {
    return present.missing(range);
  }

  /** Takes bytes in, except those that are there: others may be reading them. */
  void keep(long position, byte[] bytes, int length) throws IOException {
    var range = new Range(position, position + length);
    for (Range part : missing(range)) {
      var piece = ByteBuffer.wrap(bytes, (int) (part.from() - position), (int) part.length());
      Fully.write(data, piece, part.from());
    }
    synchronized (this) {
      fresh.addAll(present.missing(range));
      present.add(range);
    }
  }

  /** Bytes that are there. */
  byte[] read(Range range) throws IOException {
    byte[] bytes = new byte[Math.toIntExact(range.length())];
    if (!Fully.read(data, ByteBuffer.wrap(bytes), range.from())) {
      throw new EOFException("the spooled layer was cut while in use");
    }
    return bytes;
  }

  synchronized void forget(Range range) {
    present.remove(range);
    fresh.remove(range);
  }

  /** Makes durable what was kept before. */
  void checkpoint() throws IOException {
    synchronized (flushing) {
      flush();
    }
  }

  private void flush() throws IOException {
    List<Range> runs;
    synchronized (this) {
      runs = fresh.list();
      fresh.clear();
    }
    if (runs.isEmpty()) {
      return;
    }
    try {
      data.force(false);
      ByteBuffer records = ByteBuffer.allocate(runs.size() * RECORD);
      for (Range run : runs) {
        records.putLong(run.from()).putLong(run.to()).putLong(checksum(run.from(), run.to()));
      }
      Fully.write(log, records.flip(), logEnd);
      log.force(false);
      logEnd += records.limit();
    } catch (IOException e) {
      synchronized (this) {
        fresh.addAll(runs);
      }
      throw e;
    }
  }

  @Override
  public void close() throws IOException {
    try (data;
        log) {
      // A transfer that was about to end may have kept bytes after the first call.
      if (data.isOpen()) {
        checkpoint();
      }
    }
  }
}
