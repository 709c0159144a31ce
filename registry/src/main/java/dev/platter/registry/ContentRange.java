package dev.platter.registry;

import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The answer to a request for some bytes of a blob, checked against the question. */
final class ContentRange {
  private static final Pattern HEADER =
      Pattern.compile("bytes\\s+(?<from>[0-9]{1,18})-(?<to>[0-9]{1,18})/(?<size>[0-9]{1,18}|\\*)");

  private ContentRange() {}

  static String request(long from, long length) {
    return "bytes=" + from + "-" + (from + length - 1);
  }

  /** Null if it is exactly what was asked for, else what it is instead. */
  static @Nullable String mismatch(HttpResponse<?> response, long from, long length, long size) {
    String header = response.headers().firstValue("Content-Range").orElse("");
    Matcher found = HEADER.matcher(header);
    if (!found.matches()) {
      return "no Content-Range that says which bytes they are";
    }
    boolean right =
        Long.parseLong(found.group("from")) == from
            && Long.parseLong(found.group("to")) == from + length - 1
            && (found.group("size").equals("*") || Long.parseLong(found.group("size")) == size);
    if (!right) {
      return "the Content-Range " + header;
    }
    long announced = response.headers().firstValueAsLong("Content-Length").orElse(length);
    return announced == length ? null : "a Content-Length of " + announced;
  }
}
