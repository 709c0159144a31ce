package dev.platter.image.gzip;

import java.io.IOException;
import java.util.Arrays;

/** The two prefix codes of a deflate block: the fixed ones, or those that it brings along. */
final class BlockCodes {
  private static final byte[] ORDER = {
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
  };

  final HuffmanTable literals = HuffmanTable.forLiterals();
  final HuffmanTable distances = HuffmanTable.forDistances();
  private final HuffmanTable codeLengths = HuffmanTable.forCodeLengths();

  /** Those of all literals and lengths, then those of all distances. */
  private final byte[] lengths = new byte[288 + 32];

  void setFixed() {
    Arrays.fill(lengths, 0, 144, (byte) 8);
    Arrays.fill(lengths, 144, 256, (byte) 9);
    Arrays.fill(lengths, 256, 280, (byte) 7);
    Arrays.fill(lengths, 280, 288, (byte) 8);
    Arrays.fill(lengths, 288, 320, (byte) 5);
    if (!literals.build(lengths, 0, 288) || !distances.build(lengths, 288, 32)) {
      throw new AssertionError("the fixed codes are codes");
    }
  }

  /** Reads the codes at the start of a dynamic block. */
  void read(BitInput in) throws IOException {
    int literalCount = 257 + in.take(5);
    int distanceCount = 1 + in.take(5);
    int codeCount = 4 + in.take(4);
    if (literalCount > 286 || distanceCount > 30) {
      throw refused(in, "too many symbols in a deflate block");
    }
    Arrays.fill(lengths, 0, ORDER.length, (byte) 0);
    for (int i = 0; i < codeCount; i++) {
      lengths[ORDER[i]] = (byte) in.take(3);
    }
    if (!codeLengths.build(lengths, 0, ORDER.length)) {
      throw refused(in, "the code for code lengths is no prefix code");
    }
    int all = literalCount + distanceCount;
    for (int i = 0; i < all; ) {
      int symbol = takeCodeLength(in);
      if (symbol < 16) {
        lengths[i++] = (byte) symbol;
        continue;
      }
      if (symbol == 16 && i == 0) {
        throw refused(in, "a code length repeats what is not there");
      }
      byte repeated = symbol == 16 ? lengths[i - 1] : 0;
      int times =
          switch (symbol) {
            case 16 -> 3 + in.take(2);
            case 17 -> 3 + in.take(3);
            default -> 11 + in.take(7);
          };
      if (i + times > all) {
        throw refused(in, "a code length repeats too often");
      }
      Arrays.fill(lengths, i, i + times, repeated);
      i += times;
    }
    if (lengths[256] == 0) {
      throw refused(in, "a deflate block cannot end");
    }
    if (!literals.build(lengths, 0, literalCount)) {
      throw refused(in, "the code for literals and lengths is no prefix code");
    }
    if (!distances.build(lengths, literalCount, distanceCount)) {
      throw refused(in, "the code for distances is no prefix code");
    }
  }

  private int takeCodeLength(BitInput in) throws IOException {
    int entry = codeLengths.entries[in.peek(HuffmanTable.CODE_LENGTH_WIDTH)];
    in.take(HuffmanTable.drop(entry));
    return HuffmanTable.value(entry);
  }

  private static IOException refused(BitInput in, String why) {
    return Refused.at(in.bytePosition(), why);
  }
}
