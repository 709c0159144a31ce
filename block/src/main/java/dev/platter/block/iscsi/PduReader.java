package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Takes PDUs from what an initiator sends. Lengths are bounded before anything is done with them.
 * The header is copied; data that fit stay in the input's buffer, others get one from the pool.
 */
final class PduReader {
  private static final int IN_PLACE = Input.BUFFER / 2;

  private final Input input;
  private final BufferPool pool;
  private final ByteBuffer header = ByteBuffer.allocate(HEADER);
  private final CRC32C crc = new CRC32C();
  private boolean headerDigest;
  private boolean dataDigest;
  private int length;
  private boolean taken = true;
  private @Nullable ByteBuffer borrowed;

  PduReader(Input input, BufferPool pool) {
    this.input = input;
    this.pool = pool;
  }

  /** From the next PDU on. */
  void useDigests(boolean ofHeaders, boolean ofData) {
    headerDigest = ofHeaders;
    dataDigest = ofData;
  }

  /** Goes to the next PDU; false at the end of the connection. */
  boolean next() throws IOException {
    giveBack();
    if (!taken) {
      skip();
    }
    if (!input.await(HEADER)) {
      return false;
    }
    ByteBuffer in = input.buffer();
    int more = 4 * (in.get(in.position() + 4) & 0xff);
    int all = HEADER + more;
    in = input.require(headerDigest ? all + DIGEST : all);
    int start = in.position();
    if (headerDigest && digest(in, start, all) != digestAt(in, start + all)) {
      throw new PeerException("the digest of a header is wrong");
    }
    header.put(0, in, start, HEADER);
    in.position(headerDigest ? start + all + DIGEST : start + all);
    length = header.getInt(4) & 0xffffff;
    if (length > MOST_DATA) {
      throw new PeerException("a PDU with " + length + " bytes of data");
    }
    taken = length == 0;
    return true;
  }

  /** The same buffer for every PDU. */
  ByteBuffer header() {
    return header;
  }

  int opcode() {
    return header.get(0) & 0x3f;
  }

  boolean isImmediate() {
    return (header.get(0) & IMMEDIATE) != 0;
  }

  boolean flag(int flag) {
    return (header.get(1) & flag) != 0;
  }

  int tag() {
    return header.getInt(16);
  }

  int dataLength() {
    return length;
  }

  /**
   * The data of this PDU, until the next one is taken.
   *
   * @return null if their digest is wrong
   */
  @Nullable ByteBuffer data() throws IOException {
    if (length == 0) {
      return ByteBuffer.allocate(0);
    }
    int padded = padded(length);
    int all = dataDigest ? padded + DIGEST : padded;
    ByteBuffer data;
    taken = true;
    if (all <= IN_PLACE) {
      ByteBuffer in = input.require(all);
      data = in.slice(in.position(), all);
      in.position(in.position() + all);
    } else {
      data = pool.borrow().limit(all);
      borrowed = data;
      input.fill(data);
      data.flip();
    }
    if (dataDigest && digest(data, 0, padded) != digestAt(data, padded)) {
      return null;
    }
    return data.limit(length);
  }

  private void skip() throws IOException {
    input.skip(padded(length) + (dataDigest ? DIGEST : 0));
    taken = true;
  }

  void giveBack() {
    if (borrowed != null) {
      pool.giveBack(borrowed);
      borrowed = null;
    }
  }

  private int digest(ByteBuffer of, int from, int count) {
    crc.reset();
    crc.update(of.slice(from, count));
    return (int) crc.getValue();
  }

  private static int digestAt(ByteBuffer in, int at) {
    return in.slice(at, DIGEST).order(ByteOrder.LITTLE_ENDIAN).getInt(0);
  }
}
