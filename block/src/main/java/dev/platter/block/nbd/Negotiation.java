package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.block.BlockDevice;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The first part of a connection: the client names an export and what it understands. Options that
 * are unknown, malformed or too large are refused and the client may go on; what breaks the framing
 * ends the connection.
 *
 * <p>Where TLS is offered it is required: before it nothing is told but that, and whatever was
 * agreed in the clear is forgotten.
 */
final class Negotiation {
  private static final int MOST_OPTIONS = 1000;
  private static final int MOST_OPTION_BYTES = 1 << 15;

  /** An option up to here is read over and refused; who sends more is not talked to. */
  private static final int MOST_SKIPPED_BYTES = 1 << 20;

  private final Exchange exchange;
  private final Tls tls;
  private ByteChannel channel;
  private Input input;
  private boolean secured;
  private boolean noZeroes;
  private boolean structured;
  private @Nullable String allocationOf;

  /** What a negotiation asks of the server. */
  interface Exchange {
    Iterable<String> names();

    @Nullable BlockDevice find(String name);

    /** The device that this connection is going to use. */
    @Nullable BlockDevice use(String name);
  }

  /** How a connection becomes a secure one. */
  interface Tls {
    /** For connections without. */
    Tls NONE = new Tls() {};

    default boolean required() {
      return false;
    }

    default ByteChannel secure(ByteChannel plain) throws IOException {
      throw new IOException("no TLS here");
    }
  }

  Negotiation(ByteChannel channel, Exchange exchange, Tls tls) {
    this.channel = channel;
    this.input = new Input(channel);
    this.exchange = exchange;
    this.tls = tls;
  }

  /** Null if the client left without choosing an export. */
  @Nullable Session run() throws IOException {
    send(18, out -> out.putLong(INIT_MAGIC).putLong(OPTION_MAGIC).putShort((short) 3));
    if (!input.await(4)) {
      return null;
    }
    int flags = input.buffer().getInt();
    if ((flags & ~(FIXED_NEWSTYLE | NO_ZEROES)) != 0) {
      throw new PeerException("unknown client flags " + Integer.toHexString(flags));
    }
    noZeroes = (flags & NO_ZEROES) != 0;
    for (int i = 0; i < MOST_OPTIONS && input.await(16); i++) {
      ByteBuffer in = input.buffer();
      if (in.getLong() != OPTION_MAGIC) {
        throw new PeerException("not an option");
      }
      int option = in.getInt();
      long length = in.getInt() & 0xffffffffL;
      if (option != OPT_EXPORT_NAME && (flags & FIXED_NEWSTYLE) == 0) {
        throw new PeerException("a client that cannot read replies to options");
      }
      if (option == OPT_ABORT) {
        reply(option, REP_ACK);
        return null;
      }
      Session session = option(option, length);
      if (session != null) {
        return session;
      }
    }
    return null;
  }

  private @Nullable Session option(int option, long length) throws IOException {
    if (length > MOST_OPTION_BYTES) {
      if (length > MOST_SKIPPED_BYTES || option == OPT_EXPORT_NAME) {
        throw new PeerException("an option of " + length + " bytes");
      }
      input.skip(length);
      refuse(option, REP_ERR_TOO_BIG, "at most " + MOST_OPTION_BYTES + " bytes");
      return null;
    }
    ByteBuffer in = input.require((int) length);
    ByteBuffer bytes = in.slice(in.position(), (int) length);
    in.position(in.position() + (int) length);
    OptionData data = new OptionData(bytes);
    try {
      if (tls.required() && !secured && option != OPT_STARTTLS) {
        if (option == OPT_EXPORT_NAME) {
          throw new PeerException("no TLS");
        }
        refuse(option, REP_ERR_TLS_REQD, "this server speaks TLS only");
        return null;
      }
      switch (option) {
        case OPT_EXPORT_NAME -> {
          return exportName(data);
        }
        case OPT_GO, OPT_INFO -> {
          return go(option, data);
        }
        case OPT_LIST -> list(data);
        case OPT_STRUCTURED_REPLY -> {
          data.end();
          structured = true;
          reply(option, REP_ACK);
        }
        case OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT -> metaContext(option, data);
        case OPT_STARTTLS -> startTls(data);
        default -> refuse(option, REP_ERR_UNSUP, "unknown option");
      }
    } catch (OptionData.Malformed e) {
      if (option == OPT_EXPORT_NAME) {
        throw new PeerException("malformed export name");
      }
      refuse(option, REP_ERR_INVALID, String.valueOf(e.getMessage()));
    }
    return null;
  }

  /** The old way: it has no reply by which a name could be refused. */
  private Session exportName(OptionData data) throws IOException, OptionData.Malformed {
    String name = data.rest();
    BlockDevice device = exchange.use(name);
    if (device == null) {
      throw new PeerException("no export of that name");
    }
    send(
        noZeroes ? 10 : 134,
        out -> {
          out.putLong(device.size());
          out.putShort((short) Rules.transmissionFlags(device, structured));
          out.position(out.limit());
        });
    return session(name, device);
  }

  private @Nullable Session go(int option, OptionData data)
      throws IOException, OptionData.Malformed {
    String name = data.string();
    Set<Integer> wanted = new HashSet<>();
    for (int left = data.unsignedShort(); left > 0; left--) {
      wanted.add(data.unsignedShort());
    }
    data.end();
    BlockDevice device = option == OPT_GO ? exchange.use(name) : exchange.find(name);
    if (device == null) {
      refuse(option, REP_ERR_UNKNOWN, "no export of that name");
      return null;
    }
    reply(
        option,
        REP_INFO,
        12,
        out -> {
          out.putShort((short) INFO_EXPORT).putLong(device.size());
          out.putShort((short) Rules.transmissionFlags(device, structured));
        });
    reply(
        option,
        REP_INFO,
        14,
        out -> {
          out.putShort((short) INFO_BLOCK_SIZE).putInt(1).putInt(4096).putInt(MOST_PAYLOAD);
        });
    if (wanted.contains(INFO_NAME)) {
      byte[] bytes = name.getBytes(UTF_8);
      reply(option, REP_INFO, 2 + bytes.length, out -> out.putShort((short) INFO_NAME).put(bytes));
    }
    reply(option, REP_ACK);
    return option == OPT_GO ? session(name, device) : null;
  }

  private Session session(String name, BlockDevice device) {
    return new Session(channel, input, device, structured, name.equals(allocationOf));
  }

  private void list(OptionData data) throws IOException, OptionData.Malformed {
    data.end();
    for (String name : exchange.names()) {
      byte[] bytes = name.getBytes(UTF_8);
      reply(OPT_LIST, REP_SERVER, 4 + bytes.length, out -> out.putInt(bytes.length).put(bytes));
    }
    reply(OPT_LIST, REP_ACK);
  }

  private void metaContext(int option, OptionData data) throws IOException, OptionData.Malformed {
    boolean set = option == OPT_SET_META_CONTEXT;
    if (set) {
      allocationOf = null;
    }
    if (!structured) {
      refuse(option, REP_ERR_INVALID, "structured replies come first");
      return;
    }
    String name = data.string();
    int queries = data.count();
    boolean matches = !set && queries == 0;
    for (int left = queries; left > 0; left--) {
      String query = data.string();
      matches |= query.equals(ALLOCATION) || (!set && query.equals("base:"));
    }
    data.end();
    if (exchange.find(name) == null) {
      refuse(option, REP_ERR_UNKNOWN, "no export of that name");
      return;
    }
    if (matches) {
      byte[] bytes = ALLOCATION.getBytes(UTF_8);
      reply(
          option,
          REP_META_CONTEXT,
          4 + bytes.length,
          out -> out.putInt(set ? ALLOCATION_ID : 0).put(bytes));
      if (set) {
        allocationOf = name;
      }
    }
    reply(option, REP_ACK);
  }

  private void startTls(OptionData data) throws IOException, OptionData.Malformed {
    data.end();
    if (!tls.required()) {
      refuse(OPT_STARTTLS, REP_ERR_POLICY, "no TLS here");
      return;
    }
    if (secured) {
      refuse(OPT_STARTTLS, REP_ERR_INVALID, "TLS is on already");
      return;
    }
    // Nobody may put words into the secured conversation before it is one.
    if (input.buffer().hasRemaining()) {
      throw new PeerException("more in the clear after STARTTLS");
    }
    reply(OPT_STARTTLS, REP_ACK);
    channel = tls.secure(channel);
    input = new Input(channel);
    secured = true;
    structured = false;
    allocationOf = null;
  }

  private interface Writer {
    void write(ByteBuffer out);
  }

  private void refuse(int option, int error, String reason) throws IOException {
    byte[] text = reason.getBytes(UTF_8);
    reply(option, error, text.length, out -> out.put(text));
  }

  private void reply(int option, int type) throws IOException {
    reply(option, type, 0, _ -> {});
  }

  private void reply(int option, int type, int length, Writer data) throws IOException {
    send(
        20 + length,
        out -> {
          out.putLong(OPTION_REPLY_MAGIC).putInt(option).putInt(type).putInt(length);
          data.write(out);
        });
  }

  private void send(int length, Writer writer) throws IOException {
    ByteBuffer out = ByteBuffer.allocate(length);
    writer.write(out);
    out.flip();
    while (out.hasRemaining()) {
      channel.write(out);
    }
  }
}
