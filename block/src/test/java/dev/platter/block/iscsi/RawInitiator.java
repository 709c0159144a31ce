package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/** An initiator that says exactly what a test wants said, right or wrong. */
final class RawInitiator implements AutoCloseable {
  static final String INITIATOR = "iqn.2024-01.org.example:raw";
  private static final int TO_OPERATIONAL = 0x81;
  private static final int TO_FULL_FEATURE = 0x87;

  final SocketChannel socket;
  private boolean headerDigest;
  private boolean dataDigest;
  int commandNumber = 1;

  RawInitiator(InetSocketAddress portal) throws IOException {
    socket = SocketChannel.open(portal);
  }

  /** In full feature phase, with these keys besides the usual ones. */
  static RawInitiator loggedIn(InetSocketAddress portal, String target, String... keys)
      throws IOException {
    return loggedInAs(INITIATOR, portal, target, keys);
  }

  static RawInitiator loggedInAs(
      String name, InetSocketAddress portal, String target, String... keys) throws IOException {
    var initiator = new RawInitiator(portal);
    StringBuilder text = new StringBuilder(names(target).replace(INITIATOR, name));
    for (String key : keys) {
      text.append(key).append('\0');
    }
    initiator.login(TO_FULL_FEATURE, text.toString());
    Pdu response = initiator.receive();
    if (response.header.getShort(36) != 0) {
      throw new AssertionError("refused: " + Integer.toHexString(response.header.getShort(36)));
    }
    initiator.headerDigest = response.text().getOrDefault("HeaderDigest", "").equals("CRC32C");
    initiator.dataDigest = response.text().getOrDefault("DataDigest", "").equals("CRC32C");
    return initiator;
  }

  static String names(String target) {
    return "InitiatorName=" + INITIATOR + "\0TargetName=" + target + "\0SessionType=Normal\0";
  }

  record Pdu(ByteBuffer header, byte[] data) {
    int opcode() {
      return header.get(0) & 0x3f;
    }

    Map<String, String> text() {
      Map<String, String> pairs = new LinkedHashMap<>();
      for (String pair : new String(data, UTF_8).split("\0")) {
        if (!pair.isEmpty()) {
          pairs.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
      }
      return pairs;
    }

    int loginStatus() {
      return header.getShort(36) & 0xffff;
    }

    /** Sense key and code of a response. */
    int sense() {
      ByteBuffer sense = ByteBuffer.wrap(data);
      return (sense.get(4) & 0xf) << 16 | sense.getShort(14) & 0xffff;
    }
  }

  /** Security stage, and stays there or goes on. */
  void security(boolean goOn, String text) throws IOException {
    login(goOn ? TO_OPERATIONAL : 0, text);
  }

  void login(int flags, String text) throws IOException {
    ByteBuffer header = header(LOGIN | IMMEDIATE, flags, 7).putInt(24, commandNumber);
    header.putLong(8, 0x8000_0001_0002_0000L);
    send(header, text.getBytes(UTF_8));
  }

  static ByteBuffer header(int opcode, int flags, int tag) {
    return ByteBuffer.allocate(HEADER).put(0, (byte) opcode).put(1, (byte) flags).putInt(16, tag);
  }

  /** A command for LUN 0. */
  ByteBuffer command(int flags, int tag, int expected, int... cdb) {
    ByteBuffer header = header(SCSI_COMMAND, flags, tag).putInt(20, expected);
    header.putInt(24, commandNumber++);
    for (int i = 0; i < cdb.length; i++) {
      header.put(32 + i, (byte) cdb[i]);
    }
    return header;
  }

  /** Sends a header with its data, with right lengths and digests. */
  void send(ByteBuffer header, byte[] data) throws IOException {
    header.putInt(4, data.length);
    ByteBuffer out = ByteBuffer.allocate(HEADER + 2 * DIGEST + padded(data.length));
    out.put(header.array());
    if (headerDigest) {
      digest(out, 0, HEADER);
    }
    if (data.length > 0) {
      int start = out.position();
      out.put(data).position(start + padded(data.length));
      if (dataDigest) {
        digest(out, start, padded(data.length));
      }
    }
    write(out.flip());
  }

  private static void digest(ByteBuffer out, int from, int length) {
    var crc = new CRC32C();
    crc.update(out.slice(from, length));
    out.order(ByteOrder.LITTLE_ENDIAN).putInt((int) crc.getValue()).order(ByteOrder.BIG_ENDIAN);
  }

  void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      socket.write(bytes);
    }
  }

  Pdu receive() throws IOException {
    ByteBuffer header = receive(HEADER);
    if (headerDigest) {
      checkDigest(header, HEADER);
    }
    int length = header.getInt(4) & 0xffffff;
    ByteBuffer data = receive(padded(length));
    if (dataDigest && length > 0) {
      checkDigest(data, padded(length));
    }
    byte[] bytes = new byte[length];
    data.get(bytes);
    return new Pdu(header, bytes);
  }

  private void checkDigest(ByteBuffer of, int length) throws IOException {
    ByteBuffer right = ByteBuffer.allocate(length + DIGEST);
    right.position(length);
    right.put(0, of, 0, length);
    digest(right, 0, length);
    if (right.getInt(length) != receive(DIGEST).getInt()) {
      throw new AssertionError("a wrong digest");
    }
  }

  private ByteBuffer receive(int n) throws IOException {
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
