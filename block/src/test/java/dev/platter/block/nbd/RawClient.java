package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** A client that says exactly what a test wants said, right or wrong. */
final class RawClient implements AutoCloseable {
  final SocketChannel socket;

  RawClient(Path path) throws IOException {
    socket = SocketChannel.open(UnixDomainSocketAddress.of(path));
    ByteBuffer hello = receive(18);
    assertThat(hello.getLong()).isEqualTo(INIT_MAGIC);
    assertThat(hello.getLong()).isEqualTo(OPTION_MAGIC);
    assertThat(hello.getShort()).isEqualTo((short) (FIXED_NEWSTYLE | NO_ZEROES));
  }

  /** A client in transmission. */
  static RawClient connected(Path path, String export, boolean structured) throws IOException {
    var client = new RawClient(path);
    client.send(ByteBuffer.allocate(4).putInt(FIXED_NEWSTYLE | NO_ZEROES));
    if (structured) {
      client.option(OPT_STRUCTURED_REPLY, new byte[0]);
      assertThat(client.optionReply().type).isEqualTo(REP_ACK);
    }
    client.option(OPT_GO, go(export));
    OptionReply reply = client.optionReply();
    while (reply.type == REP_INFO) {
      reply = client.optionReply();
    }
    assertThat(reply.type).isEqualTo(REP_ACK);
    return client;
  }

  static byte[] go(String export) {
    byte[] name = export.getBytes(UTF_8);
    return ByteBuffer.allocate(6 + name.length).putInt(name.length).put(name).array();
  }

  void send(ByteBuffer filled) throws IOException {
    filled.flip();
    while (filled.hasRemaining()) {
      socket.write(filled);
    }
  }

  void option(int option, byte[] data) throws IOException {
    send(
        ByteBuffer.allocate(16 + data.length)
            .putLong(OPTION_MAGIC)
            .putInt(option)
            .putInt(data.length)
            .put(data));
  }

  record OptionReply(int option, int type, byte[] data) {}

  OptionReply optionReply() throws IOException {
    ByteBuffer head = receive(20);
    assertThat(head.getLong()).isEqualTo(OPTION_REPLY_MAGIC);
    int option = head.getInt();
    int type = head.getInt();
    return new OptionReply(option, type, receive(head.getInt()).array());
  }

  static ByteBuffer request(int command, int flags, long cookie, long offset, int length) {
    return ByteBuffer.allocate(REQUEST_BYTES)
        .putInt(REQUEST_MAGIC)
        .putShort((short) flags)
        .putShort((short) command)
        .putLong(cookie)
        .putLong(offset)
        .putInt(length);
  }

  /** The error of a simple reply to the request with this cookie. */
  int simpleReply(long cookie) throws IOException {
    ByteBuffer reply = receive(SIMPLE_BYTES);
    assertThat(reply.getInt()).isEqualTo(SIMPLE_MAGIC);
    int error = reply.getInt();
    assertThat(reply.getLong()).isEqualTo(cookie);
    return error;
  }

  record Chunk(int flags, int type, long cookie, ByteBuffer data) {}

  Chunk chunk() throws IOException {
    ByteBuffer head = receive(CHUNK_BYTES);
    assertThat(head.getInt()).isEqualTo(CHUNK_MAGIC);
    int flags = head.getShort();
    int type = head.getShort() & 0xffff;
    long cookie = head.getLong();
    return new Chunk(flags, type, cookie, receive(head.getInt()));
  }

  ByteBuffer receive(int n) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(n);
    while (bytes.hasRemaining()) {
      if (socket.read(bytes) < 0) {
        throw new AssertionError("closed after " + bytes.position() + " of " + n + " bytes");
      }
    }
    return bytes.flip();
  }

  /** Waits until the server has closed; answers that it sent before are not looked at. */
  void assertClosed() {
    ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
    try {
      while (socket.read(bytes.clear()) >= 0) {}
    } catch (IOException reset) {
      // As good as closed.
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
