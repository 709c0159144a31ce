package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import dev.platter.block.BlockDevice;
import dev.platter.block.scsi.ScsiException;
import dev.platter.block.wire.Batch;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;

/**
 * What an initiator is sent. PDUs are gathered in a {@link Batch}. Small reads go from the device
 * straight into it; large ones go past it, unless data have digests.
 *
 * <p>PDUs come from several threads; each is made under the lock, which also orders their numbers.
 *
 * <p>When a large read fails in the middle of a PDU, its length has been announced: zeros fill it
 * up, and the status, which comes in a PDU of its own, says that the read has failed.
 */
final class Outbox {
  private static final int GOOD = 0;

  private final Batch batch;
  private final CommandWindow window;
  private final ReentrantLock lock = new ReentrantLock();
  private final ByteBuffer head = ByteBuffer.allocate(HEADER);
  private final CRC32C crc = new CRC32C();
  private int statusNumber;
  private boolean headerDigest;
  private boolean dataDigest;
  private int segment = 8192;
  private int burst = 1 << 18;

  Outbox(WritableByteChannel channel, BufferPool pool, CommandWindow window, int statusNumber) {
    this.batch = new Batch(channel, pool, "the initiator");
    this.window = window;
    this.statusNumber = statusNumber;
  }

  /** From the next PDU on. */
  void use(Parameters agreed) {
    lock.lock();
    try {
      headerDigest = agreed.headerDigest;
      dataDigest = agreed.dataDigest;
      segment = Math.min(agreed.segment, MOST_DATA) & ~3;
      burst = agreed.maxBurst;
    } finally {
      lock.unlock();
    }
  }

  /** The largest segment of data that the other side takes, and that we send. */
  int segment() {
    return segment;
  }

  /** A header to fill in further, for {@link #send}. */
  static ByteBuffer header(int opcode, int flags, int tag) {
    return ByteBuffer.allocate(HEADER).put(0, (byte) opcode).put(1, (byte) flags).putInt(16, tag);
  }

  /** Sends a PDU that carries status. */
  void send(ByteBuffer header, byte[] data) throws IOException {
    lock.lock();
    try {
      header.putInt(24, statusNumber++);
      put(header, ByteBuffer.wrap(data));
    } finally {
      lock.unlock();
    }
  }

  /** Asks for data; that takes no number. */
  void ready(ByteBuffer header) throws IOException {
    lock.lock();
    try {
      header.putInt(24, statusNumber);
      put(header, ByteBuffer.allocate(0));
    } finally {
      lock.unlock();
    }
  }

  void good(Command command, long moved) throws IOException {
    response(command, GOOD, moved, new byte[0]);
  }

  void failed(Command command, ScsiException why, long moved) throws IOException {
    response(command, why.status(), moved, why.sense());
  }

  /**
   * @param moved how many bytes the command is about, which may be others than were expected
   */
  private void response(Command command, int status, long moved, byte[] sense) throws IOException {
    lock.lock();
    try {
      clearHead(SCSI_RESPONSE, FINAL, command.tag());
      head.put(3, (byte) status).putInt(24, statusNumber++);
      residual(command, moved);
      ByteBuffer data = ByteBuffer.allocate(sense.length == 0 ? 0 : 2 + sense.length);
      if (sense.length > 0) {
        data.putShort((short) sense.length).put(sense).flip();
      }
      put(head, data);
    } finally {
      lock.unlock();
    }
  }

  private void residual(Command command, long moved) {
    long expected = command.expected();
    if (moved != expected) {
      head.put(1, (byte) (head.get(1) | (moved > expected ? OVERFLOW : UNDERFLOW)));
      head.putInt(44, (int) Math.min(Math.abs(moved - expected), 0xffffffffL));
    }
  }

  /** Sends what a command answers, as far as it was expected, and that all went well. */
  void answer(Command command, byte[] data) throws IOException {
    lock.lock();
    try {
      int length = (int) Math.min(data.length, command.readable());
      if (length == 0) {
        good(command, data.length);
        return;
      }
      int number = 0;
      for (int at = 0; at < length; ) {
        int n = pieceAt(at, length);
        dataIn(command, number++, at, n, at + n == length, at + n == length, data.length);
        put(head, ByteBuffer.wrap(data, at, n));
        at += n;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Reads from the device what was asked for; the range is ready. */
  void read(Command command, BlockDevice device, long offset, long length) throws IOException {
    long wanted = Math.min(length, command.readable());
    lock.lock();
    try {
      if (wanted == 0) {
        good(command, length);
      } else if (wanted <= Batch.LARGE) {
        readWhole(command, device, offset, (int) wanted, length);
      } else {
        readInParts(command, device, offset, wanted, length);
      }
    } finally {
      lock.unlock();
    }
  }

  /** How much goes into the PDU at this place: bursts and segments have their limits. */
  private int pieceAt(long at, long length) {
    return (int) Math.min(Math.min(segment, length - at), burst - at % burst);
  }

  private void dataIn(
      Command command, int number, long at, int n, boolean last, boolean status, long moved) {
    boolean burstEnds = (at + n) % burst == 0;
    clearHead(DATA_IN, (last || burstEnds ? FINAL : 0) | (status ? STATUS : 0), command.tag());
    head.putInt(20, NO_TAG).putInt(36, number).putInt(40, (int) at);
    if (status) {
      head.putInt(24, statusNumber++);
      residual(command, moved);
    }
  }

  private void readWhole(Command command, BlockDevice device, long offset, int wanted, long length)
      throws IOException {
    int pieces = wanted / Math.min(segment, burst) + 2;
    ByteBuffer out = batch.room(pieces * (HEADER + 2 * DIGEST + 4) + wanted);
    int start = out.position();
    int firstStatus = statusNumber;
    try {
      int number = 0;
      for (int at = 0; at < wanted; ) {
        int n = pieceAt(at, wanted);
        dataIn(command, number++, at, n, at + n == wanted, at + n == wanted, length);
        putHead(out, head, n);
        readInto(out, device, offset + at, n);
        at += n;
      }
    } catch (IOException e) {
      out.limit(out.capacity()).position(start);
      statusNumber = firstStatus;
      failed(command, ScsiException.reading(e), 0);
    }
  }

  private void readInParts(
      Command command, BlockDevice device, long offset, long wanted, long length)
      throws IOException {
    try {
      int number = 0;
      for (long at = 0; at < wanted; ) {
        int n = pieceAt(at, wanted);
        dataIn(command, number++, at, n, at + n == wanted, false, length);
        putHead(batch.room(HEADER + DIGEST), head, n);
        body(device, offset + at, n);
        at += n;
      }
      good(command, length);
    } catch (TornBody torn) {
      failed(command, torn.why, 0);
    }
  }

  /** The device failed; what was announced is sent, so that a status can follow. */
  private static final class TornBody extends Exception {
    private static final long serialVersionUID = 1;
    final transient ScsiException why;

    TornBody(IOException cause) {
      super(cause);
      this.why = ScsiException.reading(cause);
    }
  }

  private void body(BlockDevice device, long offset, int length) throws IOException, TornBody {
    int done = 0;
    try {
      if (!dataDigest && length >= Batch.LARGE) {
        for (long n = 1; done < length && n > 0; done += (int) n) {
          n = batch.pass(device, offset + done, length - done);
        }
      }
      if (done < length) {
        ByteBuffer out = batch.room(padded(length - done) + DIGEST);
        int start = out.position();
        try {
          readInto(out, device, offset + done, length - done);
        } catch (IOException e) {
          out.limit(out.capacity()).position(start);
          throw e;
        }
      }
    } catch (PeerException e) {
      throw e;
    } catch (IOException e) {
      ByteBuffer out = batch.room(padded(length - done) + DIGEST);
      int start = out.position();
      out.put(new byte[length - done]);
      endData(out, start, length - done);
      throw new TornBody(e);
    }
  }

  private void readInto(ByteBuffer out, BlockDevice device, long offset, int length)
      throws IOException {
    int start = out.position();
    out.limit(start + length);
    device.read(offset, out);
    out.limit(out.capacity());
    endData(out, start, length);
  }

  private void clearHead(int opcode, int flags, int tag) {
    for (int at = 0; at < HEADER; at += Long.BYTES) {
      head.putLong(at, 0);
    }
    head.put(0, (byte) opcode).put(1, (byte) flags).putInt(16, tag);
  }

  private void put(ByteBuffer header, ByteBuffer data) throws IOException {
    int length = data.remaining();
    ByteBuffer out = batch.room(HEADER + 2 * DIGEST + padded(length));
    putHead(out, header, length);
    if (length > 0) {
      int start = out.position();
      out.put(data);
      endData(out, start, length);
    }
  }

  private void putHead(ByteBuffer out, ByteBuffer header, int length) {
    header.putInt(4, length); // there are no additional headers
    header.putInt(28, window.expected()).putInt(32, window.last());
    int start = out.position();
    out.put(start, header, 0, HEADER).position(start + HEADER);
    if (headerDigest) {
      digest(out, start, HEADER);
    }
  }

  /** Pads data that begin at a place, and adds their digest. */
  private void endData(ByteBuffer out, int start, int length) {
    for (int i = length; i < padded(length); i++) {
      out.put((byte) 0);
    }
    if (dataDigest) {
      digest(out, start, padded(length));
    }
  }

  private void digest(ByteBuffer out, int from, int length) {
    crc.reset();
    crc.update(out.slice(from, length));
    out.order(ByteOrder.LITTLE_ENDIAN).putInt((int) crc.getValue()).order(ByteOrder.BIG_ENDIAN);
  }

  void flush() throws IOException {
    lock.lock();
    try {
      batch.flush();
    } finally {
      lock.unlock();
    }
  }
}
