package dev.platter.node.fill;

import dev.platter.image.Digest;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Addresses as they may be written down: without the user, the password and the query. */
final class WebName {
  private static final Pattern URL =
      Pattern.compile("(?is)(https?://)(?:[^/?#]*@)?([^?#]*)(?:\\?([^#]*))?(?:#.*)?");

  private WebName() {}

  /** What is no address stays as it is. */
  static String shown(String source) {
    return URL.matcher(source).replaceFirst("$1$2");
  }

  /** The same for the same file only: a query may say which one it is, and may hold a token. */
  static String known(String url) {
    var match = URL.matcher(url);
    if (!match.matches() || match.group(3) == null) {
      return shown(url);
    }
    return shown(url) + "?" + Digest.of(match.group(3).getBytes(StandardCharsets.UTF_8));
  }
}
