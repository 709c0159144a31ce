package dev.platter.node.fill;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The first lines of a request of HTTP/1.1. What can be read in two ways is refused: a header on
 * several lines, or twice.
 *
 * @param headers by name, whose case does not matter
 */
record RequestHead(String method, String path, Map<String, String> headers) {
  private static final int MOST = 16 << 10;
  private static final Pattern REQUEST =
      Pattern.compile("(?<method>[A-Z]{1,20}) (?<target>[\\x21-\\x7e]+) HTTP/1\\.[01]");
  private static final Pattern HEADER =
      Pattern.compile("(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):(?<value>[^\\x00]*)");

  private static final Pattern BEARER = Pattern.compile("(?i:Bearer) +(?<token>[\\x21-\\x7e]+)");

  /** It was not understood; nothing can be done but to say so. */
  static final class BadRequest extends IOException {
    private static final long serialVersionUID = 1L;

    BadRequest(String message) {
      super(message);
    }
  }

  /** Returns when all of it is there. */
  static RequestHead read(InputStream in) throws IOException {
    int left = MOST;
    var first = line(in, left);
    var request = REQUEST.matcher(first);
    if (!request.matches()) {
      throw new BadRequest("this is no request of HTTP/1.1");
    }
    var headers = new TreeMap<String, String>(String.CASE_INSENSITIVE_ORDER);
    left -= first.length();
    for (var line = line(in, left); !line.isEmpty(); line = line(in, left)) {
      left -= line.length();
      var header = HEADER.matcher(line);
      if (!header.matches()) {
        throw new BadRequest("a header is not NAME: VALUE on one line");
      }
      if (headers.put(header.group("name"), header.group("value").strip()) != null) {
        throw new BadRequest("the header " + header.group("name") + " is there twice");
      }
    }
    return new RequestHead(request.group("method"), path(request.group("target")), headers);
  }

  /** Without its end. */
  static String line(InputStream in, int most) throws IOException {
    var text = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException("the connection ended in the middle of a request");
      }
      if (text.length() >= most) {
        throw new BadRequest("the head of the request has more than " + MOST + " bytes");
      }
      text.append((char) c);
    }
    return text.toString().stripTrailing();
  }

  private static String path(String target) throws BadRequest {
    try {
      var path = new URI(target).getPath();
      return path == null ? "" : path;
    } catch (URISyntaxException e) {
      throw new BadRequest("what is asked for is no address");
    }
  }

  /** The token that whoever asks has; empty if there is none, or it is none. */
  Optional<String> bearer() {
    var match = BEARER.matcher(headers.getOrDefault("Authorization", ""));
    return match.matches() ? Optional.of(match.group("token")) : Optional.empty();
  }

  @Nullable String header(String name) {
    return headers.get(name);
  }
}
