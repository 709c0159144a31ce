package dev.platter.image.raw;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A block device. It is first made all zeros by one call, where the device can do that without
 * being sent zeros, and then written like a file with holes; another device is sent the zeros of
 * each range that is zero.
 *
 * <p>Writes go past the page cache: there is nothing to gain from a second copy of a whole disk in
 * memory that somebody has to write back later. What does not fill sectors goes through the cache;
 * the kernel keeps both in step.
 */
final class DeviceTarget implements RawTarget {
  /** Between two of these an interrupt is noticed. */
  private static final long ZEROS_AT_ONCE = 1L << 30;

  private final NativeFile device;
  private final int sector;
  private final boolean mayPunch;
  private final boolean found;
  private boolean blank;

  /**
   * @param found whether all of it reads as zeros now: then none need be sent
   */
  DeviceTarget(NativeFile device, boolean mayPunch, boolean found) {
    this.device = device;
    this.sector = device.sectorSize();
    this.mayPunch = mayPunch;
    this.found = found;
  }

  @Override
  public void begin(long size) throws IOException {
    long room = device.end();
    if (room < size) {
      throw new IllegalArgumentException("the device has " + room + " bytes, the disk has " + size);
    }
    long whole = size - size % sector;
    blank = mayPunch && whole > 0 && device.punchHole(0, whole);
    if (blank && whole < size) {
      writeThroughCache(ByteBuffer.allocateDirect((int) (size - whole)), whole);
    }
    blank |= found;
  }

  @Override
  public void beginBlank(long size) throws IOException {
    begin(size);
    for (long at = 0; at < size && !blank; at += ZEROS_AT_ONCE) {
      zero(at, Math.min(ZEROS_AT_ONCE, size - at));
    }
    blank = true;
  }

  /** Sectors come from memory that begins at one. */
  @Override
  public boolean takes(ByteBuffer bytes) {
    return bytes.isDirect() && MemorySegment.ofBuffer(bytes).address() % sector == 0;
  }

  @Override
  public void write(ByteBuffer bytes, long at) throws IOException {
    if (blank) {
      SparseWriter.write(this::writeAll, bytes, at);
    } else {
      writeAll(bytes, at);
    }
  }

  private void writeAll(ByteBuffer bytes, long at) throws IOException {
    MemorySegment segment = MemorySegment.ofBuffer(bytes);
    long length = segment.byteSize();
    long whole = (at | segment.address()) % sector == 0 ? length - length % sector : 0;
    for (long done = 0; done < whole; ) {
      done += device.writeDirectly(segment.asSlice(done, whole - done), at + done);
    }
    writeThroughCache(bytes.position(bytes.position() + (int) whole), at + whole);
  }

  private void writeThroughCache(ByteBuffer bytes, long at) throws IOException {
    for (long to = at; bytes.hasRemaining(); ) {
      to += device.channel().write(bytes, to);
    }
  }

  @Override
  public void zero(long at, long length) throws IOException {
    if (blank) {
      return;
    }
    long from = Math.min(at + length, Math.ceilDiv(at, sector) * (long) sector);
    long to = Math.max(from, (at + length) / sector * sector);
    if (from < to && !device.zeroRange(from, to - from)) {
      throw new IOException("the kernel cannot write zeros to this device");
    }
    writeThroughCache(ByteBuffer.allocateDirect((int) (from - at)), at);
    writeThroughCache(ByteBuffer.allocateDirect((int) (at + length - to)), to);
  }

  @Override
  public boolean mayShare() {
    return false;
  }

  @Override
  public boolean share(long at, NativeFile source, long offset, long length) {
    return false;
  }

  @Override
  public void end(long size) {}

  @Override
  public void force() throws IOException {
    device.channel().force(true);
  }

  @Override
  public void close() throws IOException {
    device.close();
  }
}
