package dev.platter.node.fill;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * What an {@link UploadServer} has answered, as it came, for who asked. It is short, and says how
 * long it is.
 */
final class PassedAnswer {
  private static final int MOST = 64 << 10;
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.1 (?<status>[2-5]\\d\\d)\\b.*");
  private static final Pattern LENGTH = Pattern.compile("(?i)Content-Length: *(?<length>\\d{1,5})");

  private final int status;
  private final byte[] bytes;

  private PassedAnswer(int status, byte[] bytes) {
    this.status = status;
    this.bytes = bytes;
  }

  boolean isRefusal() {
    return status >= 400;
  }

  void pass(Exchange exchange) throws IOException {
    exchange.pass(bytes);
  }

  /**
   * @param headOnly whether its length is that of what does not come
   */
  static PassedAnswer read(InputStream in, boolean headOnly) throws IOException {
    var all = new ByteArrayOutputStream();
    var first = line(in, all);
    var status = STATUS.matcher(first);
    if (!status.matches()) {
      throw new IOException("this is no answer of HTTP/1.1");
    }
    var length = 0;
    for (var line = line(in, all); !line.isEmpty(); line = line(in, all)) {
      var match = LENGTH.matcher(line);
      length = match.matches() ? Integer.parseInt(match.group("length")) : length;
    }
    if (!headOnly) {
      var body = in.readNBytes(Math.min(length, MOST));
      if (body.length < length) {
        throw new EOFException("the answer is shorter than it says, or too long");
      }
      all.write(body);
    }
    return new PassedAnswer(Integer.parseInt(status.group("status")), all.toByteArray());
  }

  private static String line(InputStream in, ByteArrayOutputStream all) throws IOException {
    var line = RequestHead.line(in, MOST - all.size());
    all.write((line + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    return line;
  }
}
