package dev.platter.node.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.BufferStream;
import dev.platter.image.Digest;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.image.fill.PushedFill;
import dev.platter.image.fill.TooLarge;
import dev.platter.image.raw.NativeFile;
import dev.platter.image.stream.OutOfOrder;
import dev.platter.model.PlatterException;
import dev.platter.node.FillTarget;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One disk that is sent to a target, in one request or in several. What has come stays while this
 * lives, and is decoded already: a sender whose connection broke goes on where it was. A new
 * process begins at the first byte, since half a disk is of no use to it.
 *
 * <p>One request at a time may send; it is known to be complete only when its bytes are on the disk
 * and the record says so.
 */
final class Upload implements AutoCloseable {
  static final String SOURCE = "upload";

  private final FillTarget target;
  private final @Nullable Format format;
  private @Nullable PushedFill fill;
  private @Nullable Digest done;
  private Map<String, Object> told = Map.of();
  private boolean busy;
  private boolean begun;
  private volatile boolean waits;
  private final AtomicLong offset = new AtomicLong();
  private volatile long total = -1;

  Upload(FillTarget target, @Nullable Format format) throws IOException {
    this.target = target;
    this.format = format;
    var held = target.held(SOURCE, Optional.empty());
    if (held.isPresent()) {
      done = Digest.parse(held.get().digest());
      told = Map.of("digest", held.get().digest());
    }
  }

  /** What comes in one request. */
  record Part(long from, long length, long total, Optional<Digest> expected, BufferStream body) {
    /** Whether its end is that of the file. */
    boolean isLast() {
      return length < 0 || from + length == total;
    }
  }

  long offset() {
    return offset.get();
  }

  long total() {
    return total;
  }

  /**
   * Whether a sender waits for us: what has come is not where it belongs yet, or the device is made
   * blank.
   */
  synchronized boolean isBusy() {
    return busy && !waits;
  }

  synchronized Optional<Digest> done() {
    return Optional.ofNullable(done);
  }

  /** Takes a part, if nobody else sends one; returns when it is where it belongs. */
  Answer take(Part part) {
    synchronized (this) {
      if (done != null) {
        return new Answer(409, 409, "Complete", "it is complete; nothing more is taken", told);
      }
      if (busy) {
        return Answer.of(503, 503, "Busy", "somebody else sends at this moment; try again");
      }
      if (part.from != 0 && (part.from != offset() || fill == null || part.total != total)) {
        return new Answer(
            409, 400, "Offset", "go on at byte " + offset(), Map.of("offset", offset()));
      }
      busy = true;
    }
    try {
      return receive(part);
    } catch (IOException | RuntimeException e) {
      return failed(e);
    } finally {
      synchronized (this) {
        busy = false;
        notifyAll();
      }
    }
  }

  /** Until nobody sends, but no longer than this. */
  synchronized void awaitIdle(Duration most) throws IOException {
    long end = System.nanoTime() + most.toNanos();
    try {
      for (long left; busy && (left = end - System.nanoTime()) > 0; ) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted");
    }
  }

  private Answer receive(Part part) throws IOException {
    var pushed = part.from == 0 ? anew(part) : fill;
    if (pushed == null) {
      throw new IllegalStateException("a part was taken for what is not there");
    }
    try {
      push(part, pushed);
    } catch (Broken e) {
      return Answer.of(400, 400, "Broken", e.getMessage() + "; " + offset() + " bytes have come");
    }
    if (!part.isLast()) {
      return new Answer(
          202, 200, "Partial", "go on at byte " + offset(), Map.of("offset", offset()));
    }
    return finish(pushed.finish(), part);
  }

  private Answer finish(Filled filled, Part part) throws IOException {
    if (part.expected.filter(wanted -> !wanted.equals(filled.digest())).isPresent()) {
      giveUp();
      return Answer.of(
          422,
          400,
          "Digest",
          "what came has the digest " + filled.digest() + ", not " + part.expected.get());
    }
    target.complete(filled);
    synchronized (this) {
      done = filled.digest();
      told =
          Map.of(
              "digest", filled.digest().toString(),
              "format", filled.format().toString(),
              "size", filled.size());
      return new Answer(201, 200, "Created", "it is complete", told);
    }
  }

  private PushedFill anew(Part part) throws IOException {
    giveUp();
    if (!begun) {
      target.begin(SOURCE);
      begun = true;
    }
    total = part.total;
    var tries = new Tries(target, format, Optional.empty(), _ -> {});
    var pushed = new PushedFill(in -> tries.once(disk -> disk.from(in, part.total)));
    fill = pushed;
    return pushed;
  }

  /** The sender's fault, or the network's; what came before is kept. */
  private static final class Broken extends IOException {
    private static final long serialVersionUID = 1L;

    Broken(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  private void push(Part part, PushedFill pushed) throws IOException {
    long left = part.length < 0 ? Long.MAX_VALUE : part.length;
    while (left > 0) {
      long most = left;
      int n = pushed.take(piece -> read(part, piece, most));
      if (n < 0 && part.length >= 0) {
        throw new Broken("the body is shorter than announced", null);
      }
      if (n < 0) {
        return;
      }
      offset.addAndGet(n);
      left -= n;
    }
  }

  private int read(Part part, ByteBuffer piece, long most) throws Broken {
    waits = true;
    try {
      return part.body.read(piece.limit((int) Math.min(piece.limit(), most)));
    } catch (IOException e) {
      throw new Broken("the connection broke", e);
    } finally {
      waits = false;
    }
  }

  private void giveUp() {
    var before = fill;
    if (before != null) {
      before.close();
    }
    fill = null;
    offset.set(0);
    total = -1;
  }

  /** What was refused is refused for good: the next begins at the first byte. */
  private Answer failed(Exception e) {
    giveUp();
    return switch (e) {
      case TooLarge large -> Answer.of(413, 400, "TooLarge", text(large));
      case OutOfOrder order -> Answer.of(415, 400, "OutOfOrder", text(order));
      case BadImageException bad -> Answer.of(415, 400, "Refused", text(bad));
      case IOException full when NativeFile.isNoSpace(full) ->
          Answer.of(507, 400, "NoSpace", "there is no room left where the disk goes");
      case PlatterException known -> Answer.of(409, 500, "Target", text(known));
      default -> Answer.of(500, 500, "Failed", text(e));
    };
  }

  private static String text(Exception e) {
    return String.valueOf(e.getMessage());
  }

  @Override
  public void close() throws IOException {
    giveUp();
    target.close();
  }
}
