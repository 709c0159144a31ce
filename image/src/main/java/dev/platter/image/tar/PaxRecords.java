package dev.platter.image.tar;

import dev.platter.image.BadImageException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The {@code "<length> <key>=<value>\n"} records of a pax header.
 *
 * <p>Kept are path, linkpath, size, owner, time and extended attributes; the value of an attribute
 * has one character for each byte. Sparse files are refused here, because a reader that ignores
 * those records would silently hand out the packed bytes.
 */
final class PaxRecords {
  /** Before the name of an extended attribute. */
  static final String XATTR = "SCHILY.xattr.";

  private PaxRecords() {}

  /** Whether records that hold for all entries would rename or resize every one of them. */
  static boolean placeFiles(Map<String, String> records) {
    return records.containsKey("path")
        || records.containsKey("linkpath")
        || records.containsKey("size");
  }

  static Map<String, String> parse(byte[] data, long offset) throws BadImageException {
    var records = new LinkedHashMap<String, String>();
    int at = 0;
    while (at < data.length) {
      int space = at;
      int length = 0;
      while (space < data.length && data[space] >= '0' && data[space] <= '9') {
        length = length * 10 + (data[space++] - '0');
        if (length > data.length) {
          throw bad("a record is longer than the header", offset);
        }
      }
      int end = at + length;
      if (space == at || space >= data.length || data[space] != ' ') {
        throw bad("a record does not start with its length", offset);
      }
      if (end <= space + 1 || end > data.length || data[end - 1] != '\n') {
        throw bad("a record does not end where it says", offset);
      }
      int equals = space + 1;
      while (equals < end && data[equals] != '=') {
        equals++;
      }
      if (equals == end || equals == space + 1) {
        throw bad("a record has no key", offset);
      }
      String key = new String(data, space + 1, equals - space - 1, StandardCharsets.UTF_8);
      var charset = key.startsWith(XATTR) ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8;
      keep(records, key, new String(data, equals + 1, end - equals - 2, charset), offset);
      at = end;
    }
    return records;
  }

  private static void keep(Map<String, String> records, String key, String value, long offset)
      throws BadImageException {
    if (key.startsWith("GNU.sparse.")) {
      throw TarReader.sparse(offset);
    }
    if (key.startsWith(XATTR)) {
      records.put(key, value);
      return;
    }
    switch (key) {
      case "uid", "gid", "mtime" -> records.put(key, value);
      case "path", "linkpath", "size" -> {
        if (value.indexOf('\0') >= 0) {
          throw bad(key + " has a NUL byte in it", offset);
        }
        records.put(key, value);
      }
      default -> {}
    }
  }

  private static BadImageException bad(String why, long offset) {
    return new BadImageException("bad pax header at byte " + offset + " of the tar: " + why);
  }
}
