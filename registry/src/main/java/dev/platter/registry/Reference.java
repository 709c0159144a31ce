package dev.platter.registry;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of an image, read by Docker's rules: {@code [host[:port]/]name[:tag][@digest]}. A name
 * without a host is Docker Hub's, and a single word is in its {@code library/}.
 *
 * @param host with the port, if one was given; {@code docker.io} for Docker Hub
 * @param tag {@code latest} if neither a tag nor a digest was given
 */
public record Reference(
    String host, String repository, @Nullable String tag, @Nullable Digest digest) {
  private static final String HUB = "docker.io";
  private static final int MAX_NAME = 255;

  private static final Pattern HOST =
      Pattern.compile(
          "(?<name>[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
              + "(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\\[[0-9a-fA-F:.]+])"
              + "(?::(?<port>[0-9]{1,5}))?");
  private static final Pattern REPOSITORY =
      Pattern.compile(
          "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*");
  private static final Pattern TAG = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");
  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(?:\\.[0-9]{1,3}){3}|\\[::1]", Pattern.CASE_INSENSITIVE);

  /** Throws {@link IllegalArgumentException} with a message for the user. */
  public static Reference parse(String text) {
    if (text.length() > 600) {
      throw bad(text.substring(0, 100) + "…", "it is too long");
    }
    String rest = text;
    @Nullable Digest digest = null;
    int at = rest.indexOf('@');
    if (at >= 0) {
      digest = digest(text, rest.substring(at + 1));
      rest = rest.substring(0, at);
    }
    @Nullable String tag = null;
    int colon = rest.lastIndexOf(':');
    if (colon > rest.lastIndexOf('/')) {
      tag = rest.substring(colon + 1);
      rest = rest.substring(0, colon);
      if (!TAG.matcher(tag).matches()) {
        throw bad(text, "'" + tag + "' is no tag");
      }
    }
    String host = HUB;
    int slash = rest.indexOf('/');
    if (slash >= 0 && isHost(rest.substring(0, slash))) {
      host = host(text, rest.substring(0, slash));
      rest = rest.substring(slash + 1);
    }
    String repository = host.equals(HUB) && rest.indexOf('/') < 0 ? "library/" + rest : rest;
    if (repository.length() > MAX_NAME || !REPOSITORY.matcher(repository).matches()) {
      throw bad(text, "'" + rest + "' is no repository name (lower-case letters, digits, . _ - /)");
    }
    return new Reference(host, repository, tag == null && digest == null ? "latest" : tag, digest);
  }

  /** What Docker takes as a host rather than as the first part of a name. */
  private static boolean isHost(String first) {
    return first.indexOf('.') >= 0
        || first.indexOf(':') >= 0
        || first.equals("localhost")
        || !first.equals(first.toLowerCase(Locale.ROOT));
  }

  private static String host(String text, String host) {
    Matcher matcher = HOST.matcher(host);
    if (!matcher.matches()) {
      throw bad(text, "'" + host + "' is no host");
    }
    @Nullable String port = matcher.group("port");
    if (port != null && (Integer.parseInt(port) == 0 || Integer.parseInt(port) > 65535)) {
      throw bad(text, "'" + port + "' is no port");
    }
    return host.equals("index.docker.io") || host.equals("registry-1.docker.io") ? HUB : host;
  }

  private static Digest digest(String text, String digest) {
    try {
      return Digest.parse(digest);
    } catch (BadImageException e) {
      throw bad(text, e.getMessage());
    }
  }

  private static IllegalArgumentException bad(String text, @Nullable String why) {
    return new IllegalArgumentException("'" + text + "' is not an image reference: " + why);
  }

  /** What to resolve: the digest if there is one, since it says more than the tag. */
  public String tagOrDigest() {
    return digest != null ? digest.toString() : String.valueOf(tag);
  }

  static void requireTagOrDigest(String text) throws BadImageException {
    if (text.indexOf(':') >= 0) {
      Digest.parse(text);
    } else if (!TAG.matcher(text).matches()) {
      throw new IllegalArgumentException("'" + text + "' is neither a tag nor a digest");
    }
  }

  /** True if the registry is on this machine by its name alone; names are not looked up. */
  public boolean isLoopback() {
    Matcher matcher = HOST.matcher(host);
    return matcher.matches() && isLoopback(matcher.group("name"));
  }

  static boolean isLoopback(@Nullable String hostName) {
    return hostName != null && LOOPBACK.matcher(hostName).matches();
  }

  @Override
  public String toString() {
    return host
        + "/"
        + repository
        + (tag == null ? "" : ":" + tag)
        + (digest == null ? "" : "@" + digest);
  }
}
