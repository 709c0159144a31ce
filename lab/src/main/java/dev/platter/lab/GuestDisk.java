package dev.platter.lab;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A disk as the marker guest sees it.
 *
 * @param name the kernel's name; on virtio-scsi it says nothing about the order in the domain
 * @param serial empty if the disk has none
 * @param sha1M SHA-256 of the first MiB, in hexadecimal
 * @param sha256 of the whole disk, if the guest was asked for it
 */
public record GuestDisk(
    String name,
    String serial,
    long size,
    boolean readOnly,
    String sha1M,
    Optional<String> sha256) {

  private static final String MARK = "@@DISK ";

  /** Reads one line of the console; empty if it is about something else. */
  static Optional<GuestDisk> parse(String line) {
    if (!line.startsWith(MARK)) {
      return Optional.empty();
    }
    String[] words = line.substring(MARK.length()).strip().split(" ");
    Map<String, String> fields =
        Arrays.stream(words)
            .skip(1)
            .map(word -> word.split("=", 2))
            .filter(pair -> pair.length == 2)
            .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    return Optional.of(
        new GuestDisk(
            words[0],
            field(line, fields, "serial"),
            Long.parseLong(field(line, fields, "size")),
            field(line, fields, "ro").equals("1"),
            field(line, fields, "sha1M"),
            Optional.ofNullable(fields.get("sha256"))));
  }

  private static String field(String line, Map<String, String> fields, String name) {
    String value = fields.get(name);
    if (value == null) {
      throw new AssertionError("no %s= in: %s".formatted(name, line));
    }
    return value;
  }
}
