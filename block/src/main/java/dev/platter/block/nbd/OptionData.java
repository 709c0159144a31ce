package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.MOST_STRING_BYTES;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** The bytes that came with an option, read as the protocol defines them and no further. */
final class OptionData {
  private final ByteBuffer bytes;

  OptionData(ByteBuffer bytes) {
    this.bytes = bytes;
  }

  /** What the client sent does not parse. */
  static final class Malformed extends Exception {
    private static final long serialVersionUID = 1;

    Malformed(String message) {
      super(message);
    }
  }

  int unsignedShort() throws Malformed {
    need(2);
    return bytes.getShort() & 0xffff;
  }

  int count() throws Malformed {
    need(4);
    int count = bytes.getInt();
    if (count < 0) {
      throw new Malformed("a count that cannot be");
    }
    return count;
  }

  /** A string after its length. */
  String string() throws Malformed {
    return text(count());
  }

  /** A string that takes up all that is left. */
  String rest() throws Malformed {
    return text(bytes.remaining());
  }

  void end() throws Malformed {
    if (bytes.hasRemaining()) {
      throw new Malformed("more data than the option has");
    }
  }

  private String text(int length) throws Malformed {
    if (length > MOST_STRING_BYTES) {
      throw new Malformed("a string of " + length + " bytes");
    }
    need(length);
    ByteBuffer part = bytes.slice(bytes.position(), length);
    bytes.position(bytes.position() + length);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(part).toString();
    } catch (CharacterCodingException e) {
      throw new Malformed("a string that is not UTF-8");
    }
  }

  private void need(int n) throws Malformed {
    if (bytes.remaining() < n) {
      throw new Malformed("less data than the option has");
    }
  }
}
