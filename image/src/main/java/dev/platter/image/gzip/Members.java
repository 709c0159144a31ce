package dev.platter.image.gzip;

import java.io.IOException;
import java.util.zip.CRC32;

/**
 * The plain bytes of a gzip file of any number of members, in pieces. Anything after a member that
 * is not a member is refused, zeros too: these bytes could be read in more than one way.
 */
final class Members {
  /** Is called before the first bit of a block is read. */
  interface Blocks {
    void block(boolean firstOfMember);
  }

  private final BitInput in;
  private final Inflate inflate;
  private final Blocks blocks;
  private final CRC32 crc = new CRC32();
  private int size;

  /** False where only the end of a member was seen. */
  private boolean whole;

  private boolean inMember;
  private boolean firstBlock;

  private Members(BitInput in, Inflate inflate, Blocks blocks) {
    this.in = in;
    this.inflate = inflate;
    this.blocks = blocks;
  }

  static Members fromStart(BitInput in, Inflate inflate, Blocks blocks) throws IOException {
    Members members = new Members(in, inflate, blocks);
    members.openMember();
    return members;
  }

  /** {@code in} stands at a block, {@code window} is what comes before it. */
  static Members fromBlock(BitInput in, Inflate inflate, byte[] window) {
    Members members = new Members(in, inflate, first -> {});
    inflate.start(window);
    members.inMember = true;
    return members;
  }

  private void openMember() throws IOException {
    GzipHeader.skip(in);
    inflate.start(new byte[0]);
    crc.reset();
    size = 0;
    whole = true;
    inMember = true;
    firstBlock = true;
  }

  /**
   * Decodes one piece. It ends at {@code inflate.position} and starts where that was before, or at
   * {@link Inflate#WINDOW} if it was greater. Returns its length, which may be 0, or -1 at the end.
   */
  int next() throws IOException {
    if (!inMember) {
      if (in.atEnd()) {
        return -1;
      }
      openMember();
    }
    inflate.slide();
    int from = inflate.position;
    if (inflate.betweenBlocks()) {
      blocks.block(firstBlock);
      firstBlock = false;
      inflate.openBlock();
    }
    inflate.run();
    int length = inflate.position - from;
    crc.update(inflate.out, from, length);
    size += length;
    if (inflate.ended()) {
      closeMember();
    }
    return length;
  }

  private void closeMember() throws IOException {
    inMember = false;
    in.take(in.count & 7);
    int expectedCrc = in.take(32);
    int expectedSize = in.take(32);
    if (whole && expectedCrc != (int) crc.getValue()) {
      throw Refused.at(in.bytePosition() - 8, "CRC of the plain bytes is wrong");
    }
    if (whole && expectedSize != size) {
      throw Refused.at(in.bytePosition() - 4, "size of the plain bytes is wrong");
    }
  }
}
