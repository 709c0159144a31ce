package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import org.jspecify.annotations.Nullable;

/**
 * The first part of a connection, from the client's side: asks for structured replies, for the map
 * of holes, and for an export by name. A server may have neither of the first two.
 *
 * <p>Left out: TLS, and servers that do not know NBD_OPT_GO (before 2017).
 */
final class Introduction {
  private static final int MOST_REPLIES = 100;
  private static final int MOST_REPLY_BYTES = MOST_STRING_BYTES + 64;
  private static final int LARGEST_MINIMUM = 1 << 16;

  private final ByteChannel channel;
  private final Input input;
  private final byte[] name;
  private int replies;
  private long size = -1;
  private int flags;
  private int mostBytes = MOST_PAYLOAD;

  Introduction(ByteChannel channel, Input input, String export) {
    this.channel = channel;
    this.input = input;
    this.name = export.getBytes(UTF_8);
    if (name.length > MOST_STRING_BYTES) {
      throw new IllegalArgumentException("the name of an export has at most 4096 bytes");
    }
  }

  /** What came with an answer to an option. */
  private record Reply(int type, ByteBuffer data) {
    boolean isError() {
      return type < 0;
    }
  }

  ServedExport run() throws IOException {
    try {
      greet();
      boolean structured = askForStructuredReplies();
      Integer allocation = structured ? askForAllocation() : null;
      go();
      return new ServedExport(size, flags, structured, allocation, mostBytes);
    } catch (OptionData.Malformed e) {
      throw new PeerException("the server sent " + e.getMessage());
    }
  }

  private void greet() throws IOException {
    ByteBuffer hello = input.require(18);
    if (hello.getLong() != INIT_MAGIC || hello.getLong() != OPTION_MAGIC) {
      throw new PeerException("this is no NBD server");
    }
    int offered = hello.getShort();
    if ((offered & FIXED_NEWSTYLE) == 0) {
      throw new PeerException("the server does not know fixed newstyle negotiation");
    }
    send(ByteBuffer.allocate(4).putInt(FIXED_NEWSTYLE | (offered & NO_ZEROES)));
  }

  private boolean askForStructuredReplies() throws IOException {
    option(OPT_STRUCTURED_REPLY, ByteBuffer.allocate(0));
    Reply reply = reply(OPT_STRUCTURED_REPLY);
    return !reply.isError() && expect(reply, REP_ACK);
  }

  private @Nullable Integer askForAllocation() throws IOException, OptionData.Malformed {
    byte[] query = ALLOCATION.getBytes(UTF_8);
    option(
        OPT_SET_META_CONTEXT,
        ByteBuffer.allocate(12 + name.length + query.length)
            .putInt(name.length)
            .put(name)
            .putInt(1)
            .putInt(query.length)
            .put(query));
    Integer id = null;
    for (Reply reply = reply(OPT_SET_META_CONTEXT); ; reply = reply(OPT_SET_META_CONTEXT)) {
      if (reply.isError()) {
        return null;
      }
      if (reply.type == REP_ACK) {
        return id;
      }
      expect(reply, REP_META_CONTEXT);
      if (reply.data.remaining() < 4) {
        throw new PeerException("the server sent a context without a number");
      }
      int number = reply.data.getInt();
      if (id != null || !new OptionData(reply.data).rest().equals(ALLOCATION)) {
        throw new PeerException("the server sent a context that nobody asked for");
      }
      id = number;
    }
  }

  private void go() throws IOException, OptionData.Malformed {
    option(
        OPT_GO,
        ByteBuffer.allocate(8 + name.length)
            .putInt(name.length)
            .put(name)
            .putShort((short) 1)
            .putShort((short) INFO_BLOCK_SIZE));
    for (Reply reply = reply(OPT_GO); reply.type != REP_ACK; reply = reply(OPT_GO)) {
      if (reply.isError()) {
        throw new PeerException(
            "the server refuses the export '%s'%s%s"
                .formatted(
                    new String(name, UTF_8), reason(reply.type), ServerText.after(reply.data)));
      }
      expect(reply, REP_INFO);
      information(reply.data);
    }
    if (size < 0) {
      throw new PeerException("the server did not tell the size of the export");
    }
  }

  private static String reason(int type) {
    return switch (type) {
      case REP_ERR_UNKNOWN -> " (there is none)";
      case REP_ERR_TLS_REQD -> " (without TLS)";
      case REP_ERR_POLICY -> " (not allowed)";
      case REP_ERR_UNSUP -> " (it does not know NBD_OPT_GO)";
      default -> "";
    };
  }

  private void information(ByteBuffer data) throws PeerException, OptionData.Malformed {
    var all = new OptionData(data);
    switch (all.unsignedShort()) {
      case INFO_EXPORT -> {
        exactly(data, 10);
        size = data.getLong();
        flags = data.getShort() & 0xffff;
        if (size < 0 || (flags & HAS_FLAGS) == 0) {
          throw new PeerException("the server sent a size or flags that cannot be");
        }
      }
      case INFO_BLOCK_SIZE -> {
        exactly(data, 12);
        int least = data.getInt();
        data.getInt(); // what it would like best
        long most = Integer.toUnsignedLong(data.getInt());
        if (least < 1 || least > LARGEST_MINIMUM || Integer.bitCount(least) > 1 || most < least) {
          throw new PeerException("the server sent block sizes that cannot be");
        }
        mostBytes = (int) Math.min(most - most % least, MOST_PAYLOAD);
      }
      default -> {} // what was not asked for may be told
    }
  }

  private static void exactly(ByteBuffer data, int n) throws PeerException {
    if (data.remaining() != n) {
      throw new PeerException("the server sent information of a wrong length");
    }
  }

  private static boolean expect(Reply reply, int type) throws PeerException {
    if (reply.type != type) {
      throw new PeerException("the server answered an option with " + reply.type);
    }
    return true;
  }

  private void option(int option, ByteBuffer filled) throws IOException {
    ByteBuffer data = filled.flip();
    send(
        ByteBuffer.allocate(16 + data.remaining())
            .putLong(OPTION_MAGIC)
            .putInt(option)
            .putInt(data.remaining())
            .put(data));
  }

  private void send(ByteBuffer filled) throws IOException {
    filled.flip();
    while (filled.hasRemaining()) {
      channel.write(filled);
    }
  }

  private Reply reply(int option) throws IOException {
    if (++replies > MOST_REPLIES) {
      throw new PeerException("the server answers options without end");
    }
    ByteBuffer head = input.require(20);
    if (head.getLong() != OPTION_REPLY_MAGIC || head.getInt() != option) {
      throw new PeerException("the server sent something else than the answer to an option");
    }
    int type = head.getInt();
    int length = head.getInt();
    if (length < 0 || length > MOST_REPLY_BYTES) {
      throw new PeerException(
          "the server sent an answer of " + Integer.toUnsignedLong(length) + " bytes");
    }
    ByteBuffer data = input.require(length).slice(input.buffer().position(), length);
    input.buffer().position(input.buffer().position() + length);
    return new Reply(type, data);
  }
}
