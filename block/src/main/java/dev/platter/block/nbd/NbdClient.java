package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import dev.platter.block.Extent;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Reads a disk that an NBD server shows. Many reads can be under way at once: {@link #submit} some,
 * then take them from {@link #next} as they are done.
 *
 * <p>For one thread at a time. Waiting ends when the thread is interrupted ({@link
 * java.nio.channels.ClosedByInterruptException}) and when the server makes no progress for a time.
 * After an {@code IOException} there is nothing left to do but {@link #close}.
 *
 * <p>Left out: writing, TLS.
 */
public final class NbdClient implements AutoCloseable {
  /** The most reads that may be under way, so that requests always fit into a socket's buffer. */
  public static final int MOST_IN_FLIGHT = 64;

  private static final long LARGEST_MAP = 1 << 30;

  /** Small, so that next to nothing of what is read takes the way through this buffer. */
  private static final int INPUT = 2 * MOST_STRING_BYTES;

  private final ByteChannel channel;
  private final Runnable progress;
  private final ServedExport export;
  private final Answers answers;
  private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST_BYTES);
  private final Deque<Read> done = new ArrayDeque<>();
  private boolean inOnePiece;
  private long lastCookie;

  /**
   * A part of the disk and where its bytes go.
   *
   * @param bytes as many as remain are read; position reaches limit when they are there
   */
  public record Read(long offset, ByteBuffer bytes) {}

  NbdClient(ByteChannel channel, Runnable progress, String name) throws IOException {
    this.channel = channel;
    this.progress = progress;
    var input = new Input(channel, INPUT);
    this.export = new Introduction(channel, input, name).run();
    this.answers = new Answers(input, export);
    // Who may answer in pieces looks for holes first, which QEMU does anew for each read; with the
    // map that is in vain.
    this.inOnePiece = knowsHoles() && (export.flags() & SEND_DF) != 0;
  }

  /**
   * Connects to a server on a unix socket, or on TCP in the clear.
   *
   * @param toConnect how long it may take until the server has told all about the export
   * @param patience how long the server may make no progress later on
   */
  public static NbdClient connect(
      SocketAddress server, String export, Duration toConnect, Duration patience)
      throws IOException {
    var socket = TimedSocket.connect(server, toConnect);
    try {
      var client = new NbdClient(socket, socket::progress, export);
      socket.allow(patience);
      return client;
    } catch (Throwable e) {
      socket.close();
      throw e;
    }
  }

  public long size() {
    return export.size();
  }

  /** Whether several clients see the same disk, so that one may read through all of them. */
  public boolean canMultiConn() {
    return (export.flags() & CAN_MULTI_CONN) != 0;
  }

  /** Whether {@link #extents} knows of holes. */
  public boolean knowsHoles() {
    return export.allocation() != null;
  }

  /** The most bytes of one read. */
  public int mostBytes() {
    return export.mostBytes();
  }

  /** How many reads have been submitted and not been taken from {@link #next}. */
  public int inFlight() {
    return answers.outstanding() + done.size();
  }

  /** Asks for a part of the disk; the buffer belongs to the client until it is done. */
  public void submit(Read read) throws IOException {
    long length = read.bytes.remaining();
    within(read.offset, length);
    if (length > export.mostBytes() || inFlight() >= MOST_IN_FLIGHT) {
      throw new IllegalArgumentException("more than the server is to be asked for at once");
    }
    send(CMD_READ, Answers.Pending.read(read, inOnePiece));
  }

  /** Waits for a read that was submitted, whichever is done first. */
  public Read next() throws IOException {
    if (inFlight() == 0) {
      throw new IllegalStateException("nothing was asked for");
    }
    while (done.isEmpty()) {
      receive();
    }
    return done.remove();
  }

  /** Reads as much as remains in {@code into}, while nothing else is under way. */
  public void read(long offset, ByteBuffer into) throws IOException {
    if (inFlight() > 0) {
      throw new IllegalStateException("reads are under way");
    }
    int end = into.limit();
    for (long at = offset; into.position() < end; ) {
      int n = Math.min(end - into.position(), export.mostBytes());
      submit(new Read(at, into.limit(into.position() + n)));
      next();
      at += n;
    }
    into.limit(end);
  }

  /**
   * What a range consists of, from its beginning on; as with {@link
   * dev.platter.block.BlockDevice#extents}, perhaps not to its end. Reads may be under way.
   */
  public List<Extent> extents(long offset, long length) throws IOException {
    within(offset, length);
    if (!knowsHoles()) {
      return List.of(new Extent(length, Extent.Kind.DATA));
    }
    var pending = Answers.Pending.map(offset, Math.min(length, LARGEST_MAP));
    send(CMD_BLOCK_STATUS, pending);
    while (pending.extents == null) {
      receive();
    }
    return pending.extents;
  }

  private void within(long offset, long length) {
    if (offset < 0 || length <= 0 || length > export.size() - offset) {
      throw new IllegalArgumentException(
          "%d bytes at %d of a disk of %d bytes".formatted(length, offset, export.size()));
    }
  }

  private void send(int command, Answers.Pending pending) throws IOException {
    if (answers.outstanding() == 0) {
      progress.run(); // the time that passed before was not the server's
    }
    answers.expect(++lastCookie, pending);
    int flags = pending.inOnePiece ? FLAG_DF : 0;
    request(command, flags, lastCookie, pending.offset, (int) pending.length);
  }

  private void request(int command, int flags, long cookie, long offset, int length)
      throws IOException {
    request.clear();
    request.putInt(REQUEST_MAGIC).putShort((short) flags).putShort((short) command);
    request.putLong(cookie).putLong(offset).putInt(length).flip();
    while (request.hasRemaining()) {
      channel.write(request);
    }
  }

  private void receive() throws IOException {
    Answers.Pending finished = answers.next();
    progress.run();
    if (finished.read != null && finished.tooLargeForOnePiece) {
      inOnePiece = false;
      send(CMD_READ, Answers.Pending.read(finished.read, inOnePiece));
      return;
    }
    if (finished.error != null) {
      throw new PeerException("the server answered " + finished + " with " + finished.error);
    }
    if (finished.read != null) {
      done.add(finished.read);
    }
  }

  /** Says goodbye, if the server listens, and does not wait for what is under way. */
  @Override
  public void close() throws IOException {
    try (channel) {
      request(CMD_DISC, 0, ++lastCookie, 0, 0);
    } catch (IOException e) {
      // Nobody is there to say goodbye to.
    }
  }
}
