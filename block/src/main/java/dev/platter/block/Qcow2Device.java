package dev.platter.block;

import dev.platter.image.qcow2.ExtentVisitor;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A disk in a qcow2 file that nobody vouches for, read as it is: nothing is unpacked ahead. */
public final class Qcow2Device implements ReadOnlyDevice {
  private final Qcow2Reader reader;

  private Qcow2Device(Qcow2Reader reader) {
    this.reader = reader;
  }

  /**
   * @throws dev.platter.image.BadImageException if the file leads elsewhere or its tables are wrong
   */
  public static Qcow2Device open(Path path) throws IOException {
    return new Qcow2Device(Qcow2Reader.open(path, Limits.DEFAULT));
  }

  @Override
  public long size() {
    return reader.virtualSize();
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    reader.read(offset, into);
  }

  /** Looks at one table at most. */
  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    long endOfTable = (offset / reader.stretch() + 1) * reader.stretch();
    long end = Math.min(offset + length, endOfTable);
    var runs = new Runs(offset, end, reader.clusterSize(), new ArrayList<>());
    reader.visit(offset, end, runs);
    return runs.extents;
  }

  private record Runs(long from, long to, int clusterSize, List<Extent> extents)
      implements ExtentVisitor {
    @Override
    public void zero(long guest, long length) {
      add(length, Extent.Kind.HOLE);
    }

    @Override
    public void data(long guest, long host, long length) {
      add(length, Extent.Kind.DATA);
    }

    @Override
    public void compressed(long guest, long host, int length) {
      add(Math.min(to, guest + clusterSize) - Math.max(from, guest), Extent.Kind.DATA);
    }

    private void add(long length, Extent.Kind kind) {
      if (extents.size() < MOST_EXTENTS) {
        extents.add(new Extent(length, kind));
      }
    }
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
