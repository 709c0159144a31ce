package dev.platter.bench;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * The least that is an NBD client: one export, one read at a time, simple replies. It adds next to
 * nothing to what a server takes, and any answer but the bytes is an exception.
 */
final class NbdReader implements Closeable {
  private static final long INIT_MAGIC = 0x4e42444d41474943L;
  private static final long OPTION_MAGIC = 0x49484156454f5054L;
  private static final long OPTION_REPLY_MAGIC = 0x3e889045565a9L;
  private static final int FIXED_NEWSTYLE_NO_ZEROES = 3;
  private static final int OPT_GO = 7;
  private static final int REP_ACK = 1;
  private static final int REP_INFO = 3;
  private static final int REQUEST_MAGIC = 0x25609513;
  private static final int REPLY_MAGIC = 0x67446698;

  private final SocketChannel channel;
  private final DataInputStream in;
  private final long size;

  private NbdReader(SocketChannel channel, String export) throws IOException {
    this.channel = channel;
    InputStream stream = Channels.newInputStream(channel);
    this.in = new DataInputStream(new BufferedInputStream(stream));
    this.size = go(export);
  }

  static NbdReader connect(Path socket, String export) throws IOException {
    var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
      return new NbdReader(channel, export);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  private long go(String export) throws IOException {
    expect("greeting", INIT_MAGIC, in.readLong());
    expect("greeting", OPTION_MAGIC, in.readLong());
    in.readShort();
    var name = export.getBytes(StandardCharsets.UTF_8);
    var option = ByteBuffer.allocate(4 + 16 + 4 + name.length + 2);
    option.putInt(FIXED_NEWSTYLE_NO_ZEROES);
    option.putLong(OPTION_MAGIC).putInt(OPT_GO).putInt(4 + name.length + 2);
    option.putInt(name.length).put(name).putShort((short) 0);
    send(option);
    var exported = -1L;
    while (true) {
      expect("answer to an option", OPTION_REPLY_MAGIC, in.readLong());
      expect("option", OPT_GO, in.readInt());
      var kind = in.readInt();
      var data = ByteBuffer.wrap(in.readNBytes(in.readInt()));
      if (kind == REP_ACK) {
        return exported;
      }
      if (kind != REP_INFO) {
        throw new IOException("no export '" + export + "': " + Integer.toHexString(kind));
      }
      if (data.getShort() == 0) {
        exported = data.getLong();
      }
    }
  }

  long size() {
    return size;
  }

  byte[] read(long offset, int length) throws IOException {
    var request = ByteBuffer.allocate(28);
    request.putInt(REQUEST_MAGIC).putInt(0).putLong(offset).putLong(offset).putInt(length);
    send(request);
    expect("reply", REPLY_MAGIC, in.readInt());
    expect("error", 0, in.readInt());
    expect("cookie", offset, in.readLong());
    return in.readNBytes(length);
  }

  private void send(ByteBuffer bytes) throws IOException {
    for (bytes.flip(); bytes.hasRemaining(); ) {
      channel.write(bytes);
    }
  }

  private static void expect(String what, long wanted, long got) throws IOException {
    if (wanted != got) {
      throw new IOException("%s: %x, not %x".formatted(what, got, wanted));
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
