package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import dev.platter.block.wire.Batch;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a client is sent. Replies are gathered in a {@link Batch}. Small reads go from the device
 * straight into it; large ones go past it.
 *
 * <p>Replies come from several threads; each is made under the lock, so a reply is never within
 * another.
 *
 * <p>When a large read fails in the middle, its length has been announced. A structured reply is
 * then filled up with zeros and an error at the right offset follows; after a simple one the
 * connection can only be dropped. Simple replies are therefore read as a whole before they begin if
 * they fit into the buffer.
 */
final class Replies {
  private final Batch batch;
  private final BlockDevice device;
  private final boolean structured;
  private final ReentrantLock lock = new ReentrantLock();

  Replies(WritableByteChannel channel, BufferPool pool, BlockDevice device, boolean structured) {
    this.batch = new Batch(channel, pool, "the client");
    this.device = device;
    this.structured = structured;
  }

  void done(long cookie) throws IOException {
    lock.lock();
    try {
      simple(batch.room(SIMPLE_BYTES), cookie, 0);
    } finally {
      lock.unlock();
    }
  }

  /** Errors of commands whose success has a structured reply have one too. */
  void error(int command, long cookie, NbdError error) throws IOException {
    lock.lock();
    try {
      if (structured && (command == CMD_READ || command == CMD_BLOCK_STATUS)) {
        errorChunk(cookie, error);
      } else {
        simple(batch.room(SIMPLE_BYTES), cookie, error.number);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads from the device what was asked for, up to {@link Batch#LARGE}, if that needs no waiting.
   *
   * @return false if it does: nothing was said to the client
   */
  boolean readNow(long cookie, long offset, int length) throws IOException {
    lock.lock();
    try {
      return readWhole(cookie, offset, length, false);
    } finally {
      lock.unlock();
    }
  }

  /** What was read from the device before, up to {@link Batch#LARGE}. */
  void data(long cookie, long offset, ByteBuffer bytes) throws IOException {
    lock.lock();
    try {
      ByteBuffer out = batch.room(CHUNK_BYTES + 8 + bytes.remaining());
      announce(out, cookie, offset, bytes.remaining());
      out.put(bytes);
    } finally {
      lock.unlock();
    }
  }

  /** Reads from the device more than {@link #readNow} does; the range is ready. */
  void read(long cookie, long offset, int length, boolean unfragmented) throws IOException {
    lock.lock();
    try {
      if (!structured && length <= BufferPool.BUFFER - SIMPLE_BYTES) {
        boolean _ = readWhole(cookie, offset, length, true);
      } else if (structured) {
        readInChunks(cookie, offset, length, unfragmented);
      } else {
        simple(batch.room(SIMPLE_BYTES), cookie, 0);
        body(offset, length);
      }
    } finally {
      lock.unlock();
    }
  }

  void status(long cookie, List<Extent> extents) throws IOException {
    lock.lock();
    try {
      ByteBuffer out = batch.room(CHUNK_BYTES + 4 + 8 * extents.size());
      chunk(out, CHUNK_DONE, CHUNK_BLOCK_STATUS, cookie, 4 + 8 * extents.size());
      out.putInt(ALLOCATION_ID);
      for (Extent extent : extents) {
        out.putInt((int) extent.length());
        out.putInt(extent.isHole() ? STATE_HOLE | STATE_ZERO : 0);
      }
    } finally {
      lock.unlock();
    }
  }

  void flush() throws IOException {
    lock.lock();
    try {
      batch.flush();
    } finally {
      lock.unlock();
    }
  }

  private boolean readWhole(long cookie, long offset, int length, boolean mayWait)
      throws IOException {
    ByteBuffer out = batch.room(CHUNK_BYTES + 8 + length);
    int start = out.position();
    announce(out, cookie, offset, length);
    try {
      out.limit(out.position() + length);
      if (mayWait) {
        device.read(offset, out);
      } else if (!device.readNow(offset, out)) {
        out.clear().position(start);
        return false;
      }
    } catch (IOException e) {
      out.clear().position(start);
      error(CMD_READ, cookie, NbdError.of(e));
    }
    out.limit(out.capacity());
    return true;
  }

  /** The head of a reply to a read that has one. */
  private void announce(ByteBuffer out, long cookie, long offset, int length) {
    if (structured) {
      chunk(out, CHUNK_DONE, CHUNK_OFFSET_DATA, cookie, 8 + length);
      out.putLong(offset);
    } else {
      simple(out, cookie, 0);
    }
  }

  private void readInChunks(long cookie, long offset, int length, boolean unfragmented)
      throws IOException {
    long at = offset;
    long end = offset + length;
    try {
      while (at < end) {
        List<Extent> extents =
            unfragmented
                ? List.of(new Extent(end - at, Extent.Kind.DATA))
                : device.extents(at, end - at);
        for (Extent extent : extents) {
          int run = (int) extent.length();
          if (extent.isHole()) {
            ByteBuffer out = batch.room(CHUNK_BYTES + 12);
            chunk(out, 0, CHUNK_OFFSET_HOLE, cookie, 12);
            out.putLong(at).putInt(run);
          } else {
            ByteBuffer out = batch.room(CHUNK_BYTES + 8);
            chunk(out, 0, CHUNK_OFFSET_DATA, cookie, 8 + run);
            out.putLong(at);
            body(at, run);
          }
          at += run;
        }
      }
      chunk(batch.room(CHUNK_BYTES), CHUNK_DONE, CHUNK_NONE, cookie, 0);
    } catch (TornBody torn) {
      zeros(torn.missing);
      errorOffsetChunk(cookie, torn.error, torn.offset);
    } catch (PeerException e) {
      throw e;
    } catch (IOException e) {
      errorOffsetChunk(cookie, NbdError.of(e), at);
    }
  }

  /** The device failed when a part of the announced bytes was already sent. */
  private static final class TornBody extends IOException {
    private static final long serialVersionUID = 1;
    final long offset;
    final long missing;
    final NbdError error;

    TornBody(long offset, long missing, IOException cause) {
      super("the device failed at " + offset, cause);
      this.offset = offset;
      this.missing = missing;
      this.error = NbdError.of(cause);
    }
  }

  private void body(long offset, int length) throws IOException {
    long at = offset;
    long end = offset + length;
    try {
      for (long n = 1; at < end && n > 0; at += n) {
        n = batch.pass(device, at, end - at);
      }
      while (at < end) {
        ByteBuffer out = batch.room(1);
        int n = (int) Math.min(end - at, out.remaining());
        int start = out.position();
        out.limit(start + n);
        try {
          device.read(at, out);
        } catch (IOException e) {
          out.position(start);
          throw e;
        } finally {
          out.limit(out.capacity());
        }
        at += n;
      }
    } catch (PeerException e) {
      throw e;
    } catch (IOException e) {
      throw new TornBody(at, end - at, e);
    }
  }

  private void zeros(long count) throws IOException {
    for (long left = count; left > 0; ) {
      ByteBuffer out = batch.room(1);
      int n = (int) Math.min(left, out.remaining());
      for (int i = 0; i < n; i++) {
        out.put((byte) 0);
      }
      left -= n;
    }
  }

  private static void simple(ByteBuffer out, long cookie, int error) {
    out.putInt(SIMPLE_MAGIC).putInt(error).putLong(cookie);
  }

  private static void chunk(ByteBuffer out, int flags, int type, long cookie, int length) {
    out.putInt(CHUNK_MAGIC).putShort((short) flags).putShort((short) type);
    out.putLong(cookie).putInt(length);
  }

  private void errorChunk(long cookie, NbdError error) throws IOException {
    byte[] text = error.text.getBytes(UTF_8);
    ByteBuffer out = batch.room(CHUNK_BYTES + 6 + text.length);
    chunk(out, CHUNK_DONE, CHUNK_ERROR, cookie, 6 + text.length);
    out.putInt(error.number).putShort((short) text.length).put(text);
  }

  private void errorOffsetChunk(long cookie, NbdError error, long offset) throws IOException {
    ByteBuffer out = batch.room(CHUNK_BYTES + 14);
    chunk(out, CHUNK_DONE, CHUNK_ERROR_OFFSET, cookie, 14);
    out.putInt(error.number).putShort((short) 0).putLong(offset);
  }
}
