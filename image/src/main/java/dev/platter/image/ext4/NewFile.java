package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.Printable;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.List;

/**
 * A file to be written.
 *
 * @param path absolute; its parts have at most 255 bytes and are neither {@code .} nor {@code ..}
 * @param mode permissions, with set-user-id and the like: 0 to 07777
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record NewFile(String path, int mode, int uid, int gid, byte[] content) {
  private static final int MAX_PATH = 4095;
  private static final int MAX_NAME = 255;

  public NewFile {
    if (!path.startsWith("/") || path.length() > MAX_PATH || path.indexOf('\0') >= 0) {
      throw refused(path, "it must be absolute, without NUL, of at most %d".formatted(MAX_PATH));
    }
    for (String name : List.of(path.substring(1).split("/", -1))) {
      check(path, name);
    }
    if ((mode & ~07777) != 0) {
      throw refused(path, "the mode 0%o is not within 07777".formatted(mode));
    }
    if (uid < 0 || gid < 0) {
      throw refused(path, "owner %d:%d is negative".formatted(uid, gid));
    }
  }

  /** The parts of the path, with one char for each byte. */
  List<String> names() {
    return List.of(new String(path.getBytes(UTF_8), ISO_8859_1).substring(1).split("/"));
  }

  private static void check(String path, String name) {
    if (name.isEmpty() || name.equals(".") || name.equals("..")) {
      throw refused(path, "its parts must be names, not empty, '.' or '..'");
    }
    try {
      if (UTF_8.newEncoder().encode(CharBuffer.wrap(name)).remaining() > MAX_NAME) {
        throw refused(path, "a name has more than %d bytes".formatted(MAX_NAME));
      }
    } catch (CharacterCodingException e) {
      throw refused(path, "it cannot be written as UTF-8");
    }
  }

  private static IllegalArgumentException refused(String path, String why) {
    return new IllegalArgumentException("the file '%s': %s".formatted(Printable.of(path), why));
  }
}
