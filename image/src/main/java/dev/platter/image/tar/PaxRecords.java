package dev.platter.image.tar;

import dev.platter.image.BadImageException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The {@code "<length> <key>=<value>\n"} records of a pax header.
 *
 * <p>Only path, linkpath and size are kept: the rest (times, owners, extended attributes) says
 * nothing about the bytes of a file. Sparse files are refused here, because a reader that ignores
 * those records would silently hand out the packed bytes.
 */
final class PaxRecords {
  private PaxRecords() {}

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
      String record = new String(data, space + 1, end - space - 2, StandardCharsets.UTF_8);
      int equals = record.indexOf('=');
      if (equals <= 0) {
        throw bad("a record has no key", offset);
      }
      keep(records, record.substring(0, equals), record.substring(equals + 1), offset);
      at = end;
    }
    return records;
  }

  private static void keep(Map<String, String> records, String key, String value, long offset)
      throws BadImageException {
    if (key.startsWith("GNU.sparse.")) {
      throw TarReader.sparse(offset);
    }
    switch (key) {
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
