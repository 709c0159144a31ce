package dev.platter.node.fill;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The file in a form that a browser sends ({@code multipart/form-data}): the bytes of the part that
 * is called {@code file}. Parts before it are passed over, what comes after it is nobody's.
 */
final class FormBody extends InputStream {
  private static final Pattern BOUNDARY =
      Pattern.compile("(?i)multipart/form-data;.*\\bboundary=\"?([\\w'()+,./:=? -]{1,70})\"?.*");
  private static final Pattern FILE =
      Pattern.compile("(?i)content-disposition:\\s*form-data;.*\\bname=\"?file\"?(;.*)?");
  private static final int LONGEST_LINE = 8192;
  private static final int MOST_LINES = 1000;

  private final InputStream in;
  private final byte[] end;
  private boolean ended;

  private FormBody(InputStream in, byte[] end) {
    this.in = in;
    this.end = end;
  }

  static FormBody open(String contentType, InputStream body) throws IOException {
    var boundary = BOUNDARY.matcher(contentType);
    if (!boundary.matches()) {
      throw new IOException("not a form with a boundary: multipart/form-data");
    }
    var line = "--" + boundary.group(1).strip();
    var in = new BufferedInputStream(body, 64 << 10);
    boolean found = false;
    for (int i = 0; i < MOST_LINES; i++) {
      var text = line(in);
      found |= FILE.matcher(text).matches();
      if (found && text.isEmpty()) {
        return new FormBody(in, ("\r\n" + line).getBytes(StandardCharsets.US_ASCII));
      }
    }
    throw new IOException("the form has no part that is called file");
  }

  private static String line(InputStream in) throws IOException {
    var text = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0 || text.length() > LONGEST_LINE) {
        throw new IOException("the form has no part that is called file");
      }
      text.append((char) c);
    }
    return text.toString().stripTrailing();
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  /** Up to the next carriage return, which may begin the boundary. */
  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    int n = 0;
    while (n < length && !ended) {
      int c = in.read();
      if (c < 0) {
        throw new EOFException("the form was cut short");
      }
      if (c == '\r' && isEnd()) {
        ended = true;
      } else {
        into[from + n++] = (byte) c;
      }
    }
    return n == 0 && ended ? -1 : n;
  }

  /** Behind a carriage return. */
  private boolean isEnd() throws IOException {
    in.mark(end.length);
    byte[] next = in.readNBytes(end.length - 1);
    boolean same = Arrays.equals(next, 0, next.length, end, 1, end.length);
    if (!same) {
      in.reset();
    }
    return same;
  }
}
