package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import dev.platter.block.wire.Batch;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerConnection;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Carries out the requests of one client. What has arrived is answered as one batch by the thread
 * of the connection. What may take long (a read of bytes that have to be fetched or are not in
 * memory, a flush, zeroing) is done aside, so that the batch does not wait for it; the protocol
 * allows replies in any order.
 *
 * <p>A client has a limited number of slow requests at a time; at the limit its socket is not read.
 * Nothing that a client does makes another one wait.
 *
 * <p>A write whose bytes do not all arrive is not begun if it fits into a buffer; of a larger one a
 * part may have been written, as when a disk loses power.
 */
final class Transmission {
  private static final int SLOW_REQUESTS = 16;

  private final Channel channel;
  private final Input input;
  private final BlockDevice device;
  private final Rules rules;
  private final BufferPool pool;
  private final Replies replies;
  private final Executor aside;
  private final Semaphore slots = new Semaphore(SLOW_REQUESTS);

  Transmission(Session session, BufferPool pool, Executor aside) {
    this.channel = session.channel();
    this.input = session.input();
    this.device = session.device();
    this.rules = new Rules(device, session.structured(), session.allocation());
    this.pool = pool;
    this.replies = new Replies(session.channel(), pool, device, session.structured());
    this.aside = aside;
    input.whenIdle(replies::flush);
  }

  /** Returns when the client has said goodbye or closed, and all its requests are answered. */
  void run() throws IOException {
    try {
      while (input.await(REQUEST_BYTES) && next()) {}
    } finally {
      slots.acquireUninterruptibly(SLOW_REQUESTS);
      replies.flush();
    }
  }

  private boolean next() throws IOException {
    ByteBuffer in = input.buffer();
    if (in.getInt() != REQUEST_MAGIC) {
      throw new PeerException("not a request");
    }
    int flags = in.getShort() & 0xffff;
    int command = in.getShort() & 0xffff;
    long cookie = in.getLong();
    long offset = in.getLong();
    long length = in.getInt() & 0xffffffffL;
    if (command == CMD_DISC) {
      return false;
    }
    if (command == CMD_WRITE && length > MOST_PAYLOAD) {
      throw new PeerException("a write of " + length + " bytes");
    }
    NbdError refusal = rules.refusal(command, flags, offset, length);
    if (refusal != null) {
      if (command == CMD_WRITE) {
        input.skip(length);
      }
      replies.error(command, cookie, refusal);
      return true;
    }
    boolean durable = (flags & FLAG_FUA) != 0;
    switch (command) {
      case CMD_READ -> read(cookie, offset, (int) length, (flags & FLAG_DF) != 0);
      case CMD_WRITE -> write(cookie, offset, (int) length, durable);
      case CMD_BLOCK_STATUS -> status(cookie, offset, length, (flags & FLAG_REQ_ONE) != 0);
      case CMD_FLUSH -> slow(command, cookie, device::flush);
      case CMD_CACHE -> slow(command, cookie, () -> device.fetch(offset, length));
      case CMD_TRIM -> slow(command, cookie, changed(durable, () -> device.trim(offset, length)));
      case CMD_WRITE_ZEROES -> {
        boolean mayTrim = (flags & FLAG_NO_HOLE) == 0;
        slow(command, cookie, changed(durable, () -> device.zero(offset, length, mayTrim)));
      }
      default -> throw new AssertionError("the rules let command " + command + " pass");
    }
    return true;
  }

  private void read(long cookie, long offset, int length, boolean unfragmented) throws IOException {
    if (length <= Batch.LARGE) {
      if (!replies.readNow(cookie, offset, length)) {
        aside(() -> readSmall(cookie, offset, length));
      }
    } else if (device.ready(offset, length)) {
      replies.read(cookie, offset, length, unfragmented);
    } else {
      slow(
          CMD_READ,
          cookie,
          () -> device.fetch(offset, length),
          () -> replies.read(cookie, offset, length, unfragmented));
    }
  }

  /** Into memory of its own: whoever waits for the storage keeps nobody from the client. */
  private void readSmall(long cookie, long offset, int length) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      ByteBuffer bytes = arena.allocate(length).asByteBuffer();
      answer(
          CMD_READ,
          cookie,
          () -> {
            device.fetch(offset, length);
            device.read(offset, bytes);
          },
          () -> replies.data(cookie, offset, bytes.flip()));
    }
  }

  private void write(long cookie, long offset, int length, boolean durable) throws IOException {
    NbdError failure =
        length <= Input.BUFFER
            ? writeFrom(input.require(length), length, offset)
            : writeLarge(offset, length);
    if (failure != null) {
      replies.error(CMD_WRITE, cookie, failure);
    } else if (durable) {
      slow(CMD_WRITE, cookie, device::flush);
    } else {
      replies.done(cookie);
    }
  }

  private @Nullable NbdError writeLarge(long offset, int length) throws IOException {
    ByteBuffer piece = pool.borrow();
    try {
      NbdError failure = null;
      for (int done = 0; done < length; done += piece.limit()) {
        piece.clear().limit(Math.min(piece.capacity(), length - done));
        input.fill(piece);
        if (failure == null) {
          failure = writeFrom(piece.flip(), piece.limit(), offset + done);
        }
      }
      return failure;
    } finally {
      pool.giveBack(piece);
    }
  }

  /** Uses up {@code length} bytes of the buffer in any case. */
  private @Nullable NbdError writeFrom(ByteBuffer buffer, int length, long offset) {
    int limit = buffer.limit();
    int end = buffer.position() + length;
    try {
      device.write(offset, buffer.limit(end));
      return null;
    } catch (IOException e) {
      return NbdError.of(e);
    } finally {
      buffer.limit(limit).position(end);
    }
  }

  private void status(long cookie, long offset, long length, boolean one) throws IOException {
    List<Extent> extents;
    try {
      extents = device.extents(offset, length);
    } catch (IOException e) {
      replies.error(CMD_BLOCK_STATUS, cookie, NbdError.of(e));
      return;
    }
    replies.status(cookie, one ? extents.subList(0, 1) : extents);
  }

  private interface Work {
    void run() throws IOException;
  }

  private Work changed(boolean durable, Work work) {
    return durable
        ? () -> {
          work.run();
          device.flush();
        }
        : work;
  }

  private void slow(int command, long cookie, Work work) throws IOException {
    slow(command, cookie, work, () -> replies.done(cookie));
  }

  private void slow(int command, long cookie, Work work, Work reply) throws IOException {
    aside(() -> answer(command, cookie, work, reply));
  }

  private void aside(Work work) throws IOException {
    if (!slots.tryAcquire()) {
      replies.flush();
      slots.acquireUninterruptibly();
    }
    try {
      aside.execute(() -> runAside(work));
    } catch (RejectedExecutionException e) {
      slots.release();
      throw new PeerException("the server has ended");
    } catch (OutOfMemoryError e) {
      slots.release();
      throw new PeerException("there is no room for another thread");
    }
  }

  private void runAside(Work work) {
    boolean answered = false;
    try {
      work.run();
      answered = true;
    } catch (IOException e) {
      // The client is gone; closing lets the connection's own thread know.
    } finally {
      if (!answered) {
        PeerConnection.closeQuietly(channel);
      }
      slots.release();
    }
  }

  private void answer(int command, long cookie, Work work, Work reply) throws IOException {
    NbdError failure = attempt(work);
    if (failure == null) {
      reply.run();
    } else {
      replies.error(command, cookie, failure);
    }
    replies.flush();
  }

  private static @Nullable NbdError attempt(Work work) {
    try {
      work.run();
      return null;
    } catch (IOException e) {
      return NbdError.of(e);
    }
  }
}
