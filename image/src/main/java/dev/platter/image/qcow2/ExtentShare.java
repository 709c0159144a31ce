package dev.platter.image.qcow2;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.RawTarget;
import java.io.IOException;

/**
 * Shares with the target what lies in the image file as it is. For one thread, before anything is
 * copied: the kernel has others wait while one shares blocks with a file, and what costs there is
 * the number of calls and of extents, not of bytes. So it is to be shown stretches that are as long
 * as possible.
 *
 * <p>What cannot be shared once is not tried again: {@link ExtentCopy} does the rest.
 */
final class ExtentShare implements ExtentVisitor {
  /** What file systems that share blocks want ranges to be multiples of. */
  private static final int BLOCK = 4096;

  private final Tables tables;
  private final NativeFile file;
  private final RawTarget target;
  private boolean works;
  private boolean complete;
  private long end;

  ExtentShare(Tables tables, NativeFile file, RawTarget target) {
    this.tables = tables;
    this.file = file;
    this.target = target;
    this.works = target.mayShare();
  }

  /** A part of a stretch of data, from its beginning. */
  record Part(long from, long to) {
    /** The whole blocks of a stretch, if they are whole blocks of both files; else nothing. */
    static Part shared(long guest, long host, long length) {
      long to = (guest + length) / BLOCK * BLOCK - guest;
      long from = Math.ceilDiv(guest, (long) BLOCK) * BLOCK - guest;
      return (guest - host) % BLOCK != 0 || from >= to ? new Part(0, 0) : new Part(from, to);
    }

    long length() {
      return to - from;
    }
  }

  boolean works() {
    return works;
  }

  /** Up to which byte of the disk the {@link Part#shared} of each stretch of data is there. */
  long end() {
    return end;
  }

  /** Walks a stretch of the disk; whether nothing of it is left to do. */
  boolean isEnough(ExtentWalk walk, long from, long to) throws IOException {
    complete = true;
    walk.walk(from, to, this);
    if (works) {
      end = to;
    }
    return complete;
  }

  @Override
  public void zero(long guest, long length) throws IOException {
    target.zero(guest, length);
  }

  @Override
  public void data(long guest, long host, long length) throws IOException {
    long inFile = Math.clamp(tables.fileSize - host, 0, length);
    Part part = Part.shared(guest, host, inFile);
    if (works && part.length() > 0) {
      works = target.share(guest + part.from, file, host + part.from, part.length());
      end = guest;
    }
    complete &= works && part.length() == length;
  }

  @Override
  public void compressed(long guest, long host, int length) {
    complete = false;
  }
}
