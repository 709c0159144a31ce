package dev.platter.image.tar;

import dev.platter.image.BadImageException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What an entry says of a file beside its content.
 *
 * @param flag the type as the archive has it, for kinds that {@link TarEntry.Type} knows not
 * @param mode permissions, with setuid, setgid and the sticky bit
 * @param seconds of the last change, since 1970
 * @param major of a device
 * @param xattrs names with their namespace to values
 */
public record TarAttributes(
    char flag,
    int mode,
    int uid,
    int gid,
    long seconds,
    int nanos,
    int major,
    int minor,
    SortedMap<String, byte[]> xattrs) {
  private static final Pattern TIME = Pattern.compile("(-?[0-9]{1,15})(?:\\.([0-9]{0,30}))?");
  private static final long MOST_ID = 0xFFFFFFFFL;

  static TarAttributes of(byte[] block, Map<String, String> pax, long at) throws BadImageException {
    char flag = (char) (block[TarHeader.TYPE] & 0xff);
    boolean device = flag == '3' || flag == '4';
    long seconds = TarHeader.number(block, TarHeader.MTIME, TarHeader.SIZE_LENGTH, at);
    int nanos = 0;
    var mtime = pax.get("mtime");
    if (mtime != null && !mtime.isEmpty()) {
      var time = TIME.matcher(mtime);
      if (!time.matches()) {
        throw bad("a time that is none", at);
      }
      seconds = Long.parseLong(time.group(1));
      var fraction = time.group(2) == null ? "" : time.group(2);
      nanos = seconds < 0 ? 0 : Integer.parseInt((fraction + "000000000").substring(0, 9));
    }
    var xattrs = new TreeMap<String, byte[]>();
    for (var record : pax.entrySet()) {
      if (record.getKey().startsWith(PaxRecords.XATTR)) {
        xattrs.put(
            record.getKey().substring(PaxRecords.XATTR.length()),
            record.getValue().getBytes(StandardCharsets.ISO_8859_1));
      }
    }
    return new TarAttributes(
        flag,
        (int) (number(block, TarHeader.MODE, at) & 07777),
        id(pax.get("uid"), block, TarHeader.UID, at),
        id(pax.get("gid"), block, TarHeader.GID, at),
        seconds,
        nanos,
        device ? device(block, TarHeader.MAJOR, at) : 0,
        device ? device(block, TarHeader.MINOR, at) : 0,
        xattrs);
  }

  private static int id(
      @org.jspecify.annotations.Nullable String pax, byte[] block, int field, long at)
      throws BadImageException {
    long id;
    if (pax == null || pax.isEmpty()) {
      id = number(block, field, at);
    } else if (pax.length() <= 10 && pax.chars().allMatch(c -> c >= '0' && c <= '9')) {
      id = Long.parseLong(pax);
    } else {
      throw bad("an owner that is no number", at);
    }
    if (id > MOST_ID) {
      throw bad("the owner " + id, at);
    }
    return (int) id;
  }

  private static int device(byte[] block, int field, long at) throws BadImageException {
    long number = number(block, field, at);
    if (number >= 1 << (field == TarHeader.MAJOR ? 12 : 20)) {
      throw bad("the device number " + number, at);
    }
    return (int) number;
  }

  private static long number(byte[] block, int field, long at) throws BadImageException {
    return TarHeader.number(block, field, TarHeader.NUMBER_LENGTH, at);
  }

  private static BadImageException bad(String what, long at) {
    return new BadImageException("the tar entry at byte " + at + " has " + what);
  }
}
