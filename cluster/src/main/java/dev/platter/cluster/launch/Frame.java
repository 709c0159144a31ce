package dev.platter.cluster.launch;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * What a launcher and the node's daemon say to each other over the pod's socket: a byte that says
 * what it is, four bytes with the length, and that many bytes. Neither believes the other's length
 * beyond {@link #MOST_BYTES}.
 *
 * @param body the bytes, which are this frame's own
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
public record Frame(Kind kind, byte[] body) {
  public static final int MOST_BYTES = 64 << 10;
  private static final int HEADER = 5;

  /** What a frame means. */
  public enum Kind {
    /** To the daemon, first: start the VM. A launcher that was connected before says CONTINUE. */
    START(1),
    /** To the daemon, first: go on; eight bytes say how much of the console it has shown. */
    CONTINUE(2),
    /** To the daemon: shut the guest down. */
    STOP(3),
    /** To the launcher: the next bytes of the console. */
    CONSOLE(4),
    /** To the launcher: a line for people, from Platter and not from the guest. */
    NOTE(5),
    /** To the launcher, last: four bytes say how to exit, the rest says why. */
    EXIT(6);

    private final byte code;

    Kind(int code) {
      this.code = (byte) code;
    }

    private static @Nullable Kind of(byte code) {
      for (var kind : values()) {
        if (kind.code == code) {
          return kind;
        }
      }
      return null;
    }
  }

  public static Frame of(Kind kind) {
    return new Frame(kind, new byte[0]);
  }

  public static Frame of(Kind kind, String text) {
    return new Frame(kind, text.getBytes(StandardCharsets.UTF_8));
  }

  /** {@link Kind#CONTINUE}. */
  public static Frame from(long position) {
    return new Frame(Kind.CONTINUE, ByteBuffer.allocate(8).putLong(position).array());
  }

  /** {@link Kind#EXIT}. */
  public static Frame exit(int status, String why) {
    var text = why.getBytes(StandardCharsets.UTF_8);
    return new Frame(
        Kind.EXIT, ByteBuffer.allocate(4 + text.length).putInt(status).put(text).array());
  }

  /** The number that {@link Kind#CONTINUE} begins with. */
  public long position() throws IOException {
    return need(8).getLong();
  }

  /** The number that {@link Kind#EXIT} begins with. */
  public int status() throws IOException {
    return need(4).getInt();
  }

  /** The text of {@link Kind#NOTE} or behind the number of {@link Kind#EXIT}. */
  public String text() {
    var from = kind == Kind.EXIT ? 4 : 0;
    return new String(body, from, Math.max(0, body.length - from), StandardCharsets.UTF_8);
  }

  private ByteBuffer need(int bytes) throws IOException {
    if (body.length < bytes) {
      throw new IOException("a " + kind + " frame of " + body.length + " bytes");
    }
    return ByteBuffer.wrap(body);
  }

  /** Null if the other side has ended between two frames. */
  public static @Nullable Frame read(ReadableByteChannel channel) throws IOException {
    var header = ByteBuffer.allocate(HEADER);
    if (channel.read(header) < 0) {
      return null;
    }
    fill(channel, header);
    var code = header.get();
    var kind = Kind.of(code);
    var length = header.getInt();
    if (kind == null || length < 0 || length > MOST_BYTES) {
      throw new IOException("not a frame: kind " + code + ", length " + length);
    }
    var body = ByteBuffer.allocate(length);
    fill(channel, body);
    return new Frame(kind, body.array());
  }

  private static void fill(ReadableByteChannel channel, ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new EOFException("the other side ended within a frame");
      }
    }
    buffer.flip();
  }

  /** In one write, and whole: callers that share a channel take turns. */
  public void write(WritableByteChannel channel) throws IOException {
    if (body.length > MOST_BYTES) {
      throw new IllegalArgumentException("a frame of " + body.length + " bytes");
    }
    var buffer = ByteBuffer.allocate(HEADER + body.length);
    buffer.put(kind.code).putInt(body.length).put(body).flip();
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
  }
}
