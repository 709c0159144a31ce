package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import dev.platter.node.fill.RequestHead.BadRequest;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What follows the head of a request: as long as announced, or in chunks. Who waits to be asked for
 * it ({@code Expect: 100-continue}) is asked when it is first read, so not if the head is refused.
 */
final class RequestBody extends BufferStream {
  private static final byte[] CONTINUE =
      "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final int LONGEST_LINE = 256;
  private static final int MOST_TRAILERS = 16;

  private final BufferStream in;
  private final OutputStream out;
  private final boolean chunked;
  private boolean awaited;
  private boolean ended;
  private long left;

  private RequestBody(
      BufferStream in, OutputStream out, boolean chunked, long length, boolean awaited) {
    this.in = in;
    this.out = out;
    this.chunked = chunked;
    this.left = length;
    this.awaited = awaited;
  }

  static RequestBody of(RequestHead head, BufferStream in, OutputStream out) throws BadRequest {
    var length = head.header("Content-Length");
    var coding = head.header("Transfer-Encoding");
    if (coding != null && (length != null || !coding.equalsIgnoreCase("chunked"))) {
      throw new BadRequest("write Content-Length or Transfer-Encoding: chunked");
    }
    if (length != null && !length.matches("[0-9]{1,18}")) {
      throw new BadRequest("Content-Length is no number");
    }
    return new RequestBody(
        in,
        out,
        coding != null,
        length == null ? 0 : Long.parseLong(length),
        "100-continue".equalsIgnoreCase(head.header("Expect")));
  }

  /** Who still waits to be asked sends nothing more. */
  void answered() {
    if (awaited) {
      awaited = false;
      ended = true;
      left = 0;
    }
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (awaited) {
      awaited = false;
      out.write(CONTINUE);
    }
    if (left == 0 && chunked && !ended) {
      nextChunk();
    }
    if (left == 0) {
      return -1;
    }
    int limit = into.limit();
    int n = in.read(into.limit((int) Math.min(limit, into.position() + left)));
    into.limit(limit);
    if (n < 0) {
      throw new EOFException("the body is shorter than announced");
    }
    left -= n;
    if (left == 0 && chunked) {
      requireEmpty();
    }
    return n;
  }

  private void nextChunk() throws IOException {
    var line = RequestHead.line(in, LONGEST_LINE);
    var size = line.replaceFirst("[ \\t]*;.*", "");
    if (!size.matches("[0-9A-Fa-f]{1,15}")) {
      throw new BadRequest("a chunk does not begin with its length");
    }
    left = Long.parseLong(size, 16);
    ended = left == 0;
    for (int i = 0; ended && !RequestHead.line(in, LONGEST_LINE).isEmpty(); i++) {
      if (i == MOST_TRAILERS) {
        throw new BadRequest("too much follows the last chunk");
      }
    }
  }

  private void requireEmpty() throws IOException {
    if (!RequestHead.line(in, LONGEST_LINE).isEmpty()) {
      throw new BadRequest("a chunk is longer than it says");
    }
  }
}
