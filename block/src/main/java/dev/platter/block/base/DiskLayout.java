package dev.platter.block.base;

import dev.platter.image.ByteSource;
import dev.platter.image.oci.ExtractedDisk.Format;
import dev.platter.image.qcow2.ExtentVisitor;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Where in a disk file the bytes of the guest's disk are. */
interface DiskLayout extends Closeable {
  /** Looks at the head of the file and waits for it if need be. */
  static DiskLayout of(ByteSource file, Limits limits) throws IOException {
    ByteBuffer head = ByteBuffer.allocate(4);
    file.readAvailable(head, 0);
    return switch (Format.of(head.array())) {
      case QCOW2 -> new Qcow2(Qcow2Reader.openLazily(file, limits));
      case RAW -> new Raw(file, file.size());
    };
  }

  long size();

  /** What the file is, in a word. */
  String format();

  /** How much of the disk is described by one table; a power of two. */
  long stretch();

  /** Whether a stretch is known to be zeros before its table is read. */
  boolean isEmptyStretch(long guest);

  void visit(long from, long to, ExtentVisitor visitor) throws IOException;

  void read(long guest, ByteBuffer into) throws IOException;

  /** Refuses tables that are not what they should be; reads all of them. */
  void check() throws IOException;

  record Qcow2(Qcow2Reader reader) implements DiskLayout {
    @Override
    public String format() {
      return "qcow2";
    }

    @Override
    public long size() {
      return reader.virtualSize();
    }

    @Override
    public long stretch() {
      return reader.stretch();
    }

    @Override
    public boolean isEmptyStretch(long guest) {
      return reader.isEmptyStretch(guest);
    }

    @Override
    public void visit(long from, long to, ExtentVisitor visitor) throws IOException {
      reader.visit(from, to, visitor);
    }

    @Override
    public void read(long guest, ByteBuffer into) throws IOException {
      reader.read(guest, into);
    }

    @Override
    public void check() throws IOException {
      reader.check();
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }

  record Raw(ByteSource file, long size) implements DiskLayout {
    @Override
    public String format() {
      return "raw";
    }

    @Override
    public long stretch() {
      return 1L << 29;
    }

    @Override
    public boolean isEmptyStretch(long guest) {
      return false;
    }

    @Override
    public void visit(long from, long to, ExtentVisitor visitor) throws IOException {
      visitor.data(from, from, to - from);
    }

    @Override
    public void read(long guest, ByteBuffer into) throws IOException {
      file.readFully(into, guest);
    }

    @Override
    public void check() {}

    @Override
    public void close() {}
  }
}
