package dev.platter.block.nbd;

import dev.platter.block.Extent;
import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Copies regions over one connection, in one thread: while it writes, the server is reading what
 * was asked for ahead.
 */
final class CopyWorker {
  /** As many as QEMU's server works on. */
  private static final int MOST_IN_FLIGHT = 16;

  private static final int MOST_BYTES_IN_FLIGHT = 8 << 20;
  private static final int ALIGNMENT = 4096;

  private final NbdClient client;
  private final CopyWork work;
  private final RawTarget target;
  private final int request;
  private final Deque<ByteBuffer> free = new ArrayDeque<>();

  private CopyWorker(NbdClient client, int request, CopyWork work, RawTarget target, Arena arena) {
    this.client = client;
    this.work = work;
    this.target = target;
    this.request = Math.min(request, client.mostBytes());
    for (int i = Math.min(MOST_IN_FLIGHT, MOST_BYTES_IN_FLIGHT / request); i > 0; i--) {
      free.add(arena.allocate(this.request, ALIGNMENT).asByteBuffer());
    }
  }

  /**
   * Returns when there is no work left.
   *
   * @param request the most bytes to ask for at once
   */
  static @Nullable Void run(NbdClient client, int request, CopyWork work, RawTarget target)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      new CopyWorker(client, request, work, target, arena).run();
      return null;
    }
  }

  private void run() throws IOException {
    for (long start = work.take(); start < work.total(); start = work.take()) {
      region(start, work.end(start));
    }
    while (client.inFlight() > 0) {
      finishOne();
    }
  }

  private void region(long start, long end) throws IOException {
    for (long at = start; at < end; ) {
      for (Extent extent : work.extents(client, at, end)) {
        if (extent.isHole()) {
          target.zero(at, extent.length());
          work.finished(extent.length());
        } else {
          ask(at, extent.length());
        }
        at += extent.length();
      }
    }
  }

  /** In requests that end at multiples of their size, so that writes are aligned. */
  private void ask(long start, long length) throws IOException {
    long end = start + length;
    for (long at = start; at < end; ) {
      if (free.isEmpty()) {
        finishOne();
      }
      int n = (int) Math.min(end - at, request - at % request);
      client.submit(new NbdClient.Read(at, free.remove().clear().limit(n)));
      at += n;
    }
  }

  private void finishOne() throws IOException {
    if (Thread.currentThread().isInterrupted()) {
      throw new ClosedByInterruptException(); // nothing else may notice, while all goes well
    }
    NbdClient.Read read = client.next();
    ByteBuffer bytes = read.bytes().flip();
    int n = bytes.remaining();
    target.write(bytes, read.offset());
    work.finished(n);
    free.add(bytes);
  }
}
