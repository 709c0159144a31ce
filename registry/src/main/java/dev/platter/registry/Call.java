package dev.platter.registry;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One request, without credentials. It can be sent again: its body is opened anew each time.
 *
 * @param headers name and value by turns
 * @param once not to be tried again, since something else can be asked
 */
record Call(String method, URI uri, List<String> headers, @Nullable Body body, boolean once) {

  /** What a request carries. */
  record Body(long length, Source source) {
    interface Source {
      InputStream open() throws IOException;
    }
  }

  static Call get(URI uri, String accept) {
    return new Call("GET", uri, List.of("Accept", accept), null, false);
  }

  static Call of(String method, URI uri) {
    return new Call(method, uri, List.of(), null, false);
  }

  Call with(String header, String value) {
    List<String> more = new ArrayList<>(headers);
    more.add(header);
    more.add(value);
    return new Call(method, uri, List.copyOf(more), body, once);
  }

  Call with(Body content) {
    return new Call(method, uri, headers, content, once);
  }

  Call onlyOnce() {
    return new Call(method, uri, headers, body, true);
  }

  Call to(URI other) {
    return new Call(method, other, headers, body, once);
  }

  /**
   * True if doing it twice is the same as doing it once. A {@code PUT} of a manifest is; the one
   * that ends an upload is not, since the upload is gone after the first.
   */
  boolean isIdempotent() {
    return switch (method) {
      case "GET", "HEAD" -> true;
      case "PUT" -> uri.getRawPath().contains("/manifests/");
      default -> false;
    };
  }
}
