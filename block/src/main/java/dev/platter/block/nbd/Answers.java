package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import dev.platter.block.Extent;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a server answers to requests, in any order, in one piece or in several. A server is not
 * believed: an answer has exactly as many bytes as were asked for, and a finite number of parts,
 * since each brings some of them.
 *
 * <p>Left out: parts of one read that are not in order. The protocol allows them, no server that we
 * know sends them, and in order there can be neither gaps nor overlaps.
 */
final class Answers {
  /** Of a longer map only the beginning is kept; the rest is asked for again. */
  private static final int MOST_EXTENTS = 1 << 14;

  private static final int MOST_MAP_BYTES = 4 + (8 << 20);

  private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 16).asReadOnlyBuffer();

  private final Input input;
  private final ServedExport export;
  private final Map<Long, Pending> pending = new HashMap<>();

  Answers(Input input, ServedExport export) {
    this.input = input;
    this.export = export;
  }

  /** A request that is on its way: a read, or if there is no buffer, one for the map. */
  static final class Pending {
    final long offset;
    final long length;
    final NbdClient.@Nullable Read read;
    final boolean inOnePiece;
    @Nullable List<Extent> extents;
    @Nullable String error;
    boolean tooLargeForOnePiece;

    private Pending(long offset, long length, NbdClient.@Nullable Read read, boolean inOnePiece) {
      this.offset = offset;
      this.length = length;
      this.read = read;
      this.inOnePiece = inOnePiece;
    }

    static Pending map(long offset, long length) {
      return new Pending(offset, length, null, false);
    }

    /**
     * @param inOnePiece whether the answer must not come in several
     */
    static Pending read(NbdClient.Read read, boolean inOnePiece) {
      return new Pending(read.offset(), read.bytes().remaining(), read, inOnePiece);
    }

    @Override
    public String toString() {
      return (read == null ? "the map" : "a read") + " of " + length + " bytes at " + offset;
    }
  }

  void expect(long cookie, Pending request) {
    pending.put(cookie, request);
  }

  int outstanding() {
    return pending.size();
  }

  /** Waits until one request is answered in full. */
  Pending next() throws IOException {
    while (true) {
      int magic = input.require(4).getInt();
      Pending finished =
          switch (magic) {
            case SIMPLE_MAGIC -> simple();
            case CHUNK_MAGIC -> chunk();
            default -> throw new PeerException("the server sent something that is no reply");
          };
      if (finished != null) {
        return finished;
      }
    }
  }

  private Pending simple() throws IOException {
    ByteBuffer head = input.require(SIMPLE_BYTES - 4);
    int error = head.getInt();
    long cookie = head.getLong();
    Pending request = find(cookie);
    if (export.structured()) {
      throw new PeerException("the server sent a simple reply where a structured one was agreed");
    }
    if (error != 0) {
      request.error = "error " + Integer.toUnsignedString(error);
    } else {
      data(request, request.length);
    }
    pending.remove(cookie);
    return request;
  }

  private @Nullable Pending chunk() throws IOException {
    ByteBuffer head = input.require(CHUNK_BYTES - 4);
    boolean last = (head.getShort() & CHUNK_DONE) != 0;
    int type = head.getShort() & 0xffff;
    long cookie = head.getLong();
    int length = head.getInt();
    if (!export.structured()) {
      throw new PeerException("the server sent a structured reply that was not agreed on");
    }
    Pending request = find(cookie);
    switch (type) {
      case CHUNK_NONE -> require(length == 0 && last, request);
      case CHUNK_OFFSET_DATA -> {
        require(length > 8, request);
        inOrder(request, input.require(8).getLong());
        data(request, length - 8);
      }
      case CHUNK_OFFSET_HOLE -> {
        require(length == 12, request);
        ByteBuffer hole = input.require(12);
        inOrder(request, hole.getLong());
        zeros(request, hole.getInt());
      }
      case CHUNK_BLOCK_STATUS -> map(request, length);
      default -> error(request, type, length);
    }
    if (!last) {
      return null;
    }
    require(request.error != null || isComplete(request), request);
    pending.remove(cookie);
    return request;
  }

  private Pending find(long cookie) throws PeerException {
    Pending request = pending.get(cookie);
    if (request == null) {
      throw new PeerException("the server answered a request that was not made");
    }
    return request;
  }

  private static boolean isComplete(Pending request) {
    return request.read == null ? request.extents != null : !request.read.bytes().hasRemaining();
  }

  private static void require(boolean right, Pending request) throws PeerException {
    if (!right) {
      throw new PeerException("the server sent a wrong reply to " + request);
    }
  }

  private static ByteBuffer destination(Pending request) throws PeerException {
    if (request.read == null) {
      throw new PeerException("the server sent data instead of " + request);
    }
    return request.read.bytes();
  }

  private static void inOrder(Pending request, long offset) throws PeerException {
    long left = destination(request).remaining();
    require(offset == request.offset + request.length - left, request);
  }

  private void data(Pending request, long length) throws IOException {
    ByteBuffer into = destination(request);
    require(length <= into.remaining(), request);
    int end = into.limit();
    input.fill(into.limit(into.position() + (int) length));
    into.limit(end);
  }

  private static void zeros(Pending request, int length) throws PeerException {
    ByteBuffer into = destination(request);
    require(length > 0 && length <= into.remaining(), request);
    for (int left = length; left > 0; ) {
      int n = Math.min(left, ZEROS.capacity());
      into.put(ZEROS.slice(0, n));
      left -= n;
    }
  }

  private void map(Pending request, int length) throws IOException {
    require(
        request.read == null
            && request.extents == null
            && length >= 12
            && length <= MOST_MAP_BYTES
            && length % 8 == 4,
        request);
    Integer context = input.require(4).getInt();
    require(context.equals(export.allocation()), request);
    List<Extent> runs = new ArrayList<>();
    long left = request.length;
    for (int i = length / 8; i > 0; i--) {
      ByteBuffer run = input.require(8);
      long bytes = Math.min(left, Integer.toUnsignedLong(run.getInt()));
      boolean zero = (run.getInt() & STATE_ZERO) != 0;
      if (left > 0 && runs.size() < MOST_EXTENTS) {
        require(bytes > 0, request);
        runs.add(new Extent(bytes, zero ? Extent.Kind.HOLE : Extent.Kind.DATA));
        left -= bytes;
      }
    }
    request.extents = runs;
  }

  private void error(Pending request, int type, int length) throws IOException {
    boolean known = (type & 0x8000) != 0 && request.error == null;
    require(known && length >= 6 && length <= MOST_STRING_BYTES + 14, request);
    ByteBuffer all = input.require(length);
    int end = all.position() + length;
    int number = all.getInt();
    int text = all.getShort() & 0xffff;
    require(text <= length - 6, request);
    request.tooLargeForOnePiece =
        number == ERROR_OVERFLOW
            && request.inOnePiece
            && destination(request).remaining() == request.length;
    request.error =
        "error "
            + Integer.toUnsignedString(number)
            + ServerText.after(all.slice(all.position(), text));
    all.position(end);
  }
}
