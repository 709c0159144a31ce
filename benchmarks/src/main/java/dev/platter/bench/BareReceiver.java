package dev.platter.bench;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * The least that anybody can do with an upload: what comes is written as it is, but for pages of
 * zeros, and synced. Nothing is unpacked, decoded or hashed, and no process begins.
 */
final class BareReceiver implements AutoCloseable {
  private static final int PIECE = 1 << 20;
  private static final int PAGE = 4096;
  private static final int LONGEST_MINUTES = 10;
  private static final Pattern LENGTH =
      Pattern.compile("content-length: *(\\d+)", Pattern.CASE_INSENSITIVE);
  private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(PAGE);
  private static final byte[] DONE =
      "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private final ServerSocketChannel listener;
  private final CompletableFuture<Void> received = new CompletableFuture<>();

  BareReceiver(Path file) throws IOException {
    listener =
        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    Thread.ofPlatform().name("bare").daemon().start(() -> take(file));
  }

  String address() throws IOException {
    return "http://127.0.0.1:" + ((InetSocketAddress) listener.getLocalAddress()).getPort() + "/";
  }

  private void take(Path file) {
    try (var peer = listener.accept();
        var to = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      receive(peer, to);
      to.force(true);
      peer.write(ByteBuffer.wrap(DONE));
      received.complete(null);
    } catch (IOException | RuntimeException e) {
      received.completeExceptionally(e);
    }
  }

  private static void receive(SocketChannel peer, FileChannel to) throws IOException {
    var piece = ByteBuffer.allocateDirect(PIECE);
    String head;
    int end;
    do {
      more(peer, piece);
      head = StandardCharsets.ISO_8859_1.decode(piece.duplicate().flip()).toString();
      end = head.indexOf("\r\n\r\n");
    } while (end < 0);
    var length = LENGTH.matcher(head.substring(0, end));
    if (!length.find()) {
      throw new IOException("an upload without a length");
    }
    var all = Long.parseLong(length.group(1));
    piece.flip().position(end + 4).compact();
    for (long at = 0; at < all; ) {
      while (piece.position() < Math.min(PIECE, all - at)) {
        more(peer, piece);
      }
      at += write(piece.flip(), to, at);
      piece.clear();
    }
    to.truncate(all);
  }

  private static void more(SocketChannel peer, ByteBuffer piece) throws IOException {
    if (peer.read(piece) < 0) {
      throw new EOFException("an upload that ends too soon");
    }
  }

  /** Runs of pages that are not zeros, by one call each. */
  private static int write(ByteBuffer piece, FileChannel to, long at) throws IOException {
    var length = piece.limit();
    var begun = 0;
    for (var page = 0; page < length; page += PAGE) {
      if (length - page >= PAGE && piece.slice(page, PAGE).equals(ZEROS)) {
        put(piece, begun, page, to, at);
        begun = page + PAGE;
      }
    }
    put(piece, begun, length, to, at);
    return length;
  }

  private static void put(ByteBuffer piece, int from, int end, FileChannel to, long at)
      throws IOException {
    for (var rest = piece.slice(from, Math.max(0, end - from)); rest.hasRemaining(); ) {
      to.write(rest, at + from + rest.position());
    }
  }

  /** Waits for what was sent; says what went wrong, also if nobody came. */
  @Override
  public void close() throws IOException {
    listener.close();
    received.orTimeout(LONGEST_MINUTES, TimeUnit.MINUTES).join();
  }
}
