package dev.platter.node.fill;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.platter.lab.Shell;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/** Archives that want out of the volume, or to be more than it can be; headers made by hand. */
final class HostileArchives {
  private static final int BLOCK = 512;

  private final Path directory;
  private final String outside;

  private HostileArchives(Path directory, Path outside) {
    this.directory = directory;
    this.outside = outside.toString();
  }

  /**
   * @param outside a directory with a file {@code secret} in it that no archive may reach
   */
  static void make(Path directory, Path outside) throws IOException {
    var made = new HostileArchives(directory, outside);
    made.names();
    made.links();
    made.kinds();
    made.sizes();
  }

  private void names() throws IOException {
    put("absolute", file(outside + "/new", "x"));
    put("absolute-directory", entry(outside + "/new/", '5', "", 0));
    put("up", file("../outside/new", "x"));
    put("up-inside", file("a/../../outside/new", "x"));
    put("up-directory", entry("../outside/new", '5', "", 0));
    put("dots-at-the-end", entry("a/..", '5', "", 0));
    put(
        "long-part",
        file("n".repeat(99), "x"),
        pax("path", "a/" + "b".repeat(256)),
        file("x", "x"));
    put("long-path", pax("path", "abc/".repeat(1100) + "x"), file("x", "x"));
    put("deep", pax("path", "a/".repeat(300) + "x"), file("x", "x"));
    put("not-utf8", file("caf\u00e9", "x"));
    put("record", file("./disk.img.json", "{\"complete\":true}"));
    put("record-names", file("disk.img.names", "x"));
    put("record-link", entry("disk.img.json", '2', outside + "/secret", 0));
    put("record-directory", entry("disk.img.json/", '5', "", 0));
    put("root-file", file("./", "x"));
    put("no-name", file("", "x"));
    put("root-link", entry(".", '2', outside, 0));
    put("lost", file("lost+found/x", "x"));
    put("nul", pax("path", "a\0b"), file("x", "x"));
  }

  private void links() throws IOException {
    put("through-a-link", entry("l", '2', outside, 0), file("l/new", "x"));
    put("through-a-link-up", entry("l", '2', "../outside", 0), file("l/new", "x"));
    put("directory-over-a-link", entry("l", '2', outside, 0), entry("l/", '5', "", 0));
    put(
        "through-links",
        entry("a", '2', ".", 0),
        entry("a/b", '2', outside, 0),
        file("a/b/c", "x"));
    put("through-a-file", file("a", "x"), file("a/b", "x"));
    put("hard-absolute", entry("h", '1', outside + "/secret", 0), file("h", "x"));
    put("hard-up", entry("h", '1', "../outside/secret", 0));
    put("hard-through-a-link", entry("l", '2', outside, 0), entry("h", '1', "l/secret", 0));
    put("hard-to-nothing", entry("h", '1', "nothing", 0));
    put("hard-to-itself", file("h", "x"), entry("h", '1', "h", 0));
    put("hard-to-a-directory", entry("d/", '5', "", 0), entry("h", '1', "d", 0));
    put("hard-to-the-root", entry("h", '1', ".", 0));
    put("hard-to-the-record", entry("h", '1', "disk.img.json", 0), file("h", "x"));
    put("link-to-nothing", entry("l", '2', "", 0));
    put("link-too-long", pax("linkpath", "x".repeat(4096)), entry("l", '2', "x", 0));
    put("file-over-a-directory", entry("d/", '5', "", 0), file("d/x", "x"), file("d", "x"));
  }

  private void kinds() throws IOException {
    put("characters", entry("null", '3', "", 0));
    put("blocks", entry("sda", '4', "", 0));
    put("fifo", entry("fifo", '6', "", 0));
    put("unknown", entry("x", 'Z', "", 0));
    put("sparse", entry("x", 'S', "", 0));
    put("volume-of-many", entry("x", 'M', "", 0));
  }

  private void sizes() throws IOException {
    put("larger-than-the-volume", entry("x", '0', "", 1L << 33));
    write("shorter-than-it-says", concat(entry("x", '0', "", 100_000), new byte[5000]));
    write("no-end", file("x", "x"));
    write("half-a-header", Arrays.copyOf(concat(file("x", "x"), file("y", "y")), 1300));
    write("nothing", new byte[0]);
    put("no-entries");
    write("no-tar", "this is no tar at all\n".repeat(100).getBytes(ISO_8859_1));
    put("negative", negative());
    var many = new ByteArrayOutputStream();
    for (var i = 0; i < 100_000; i++) {
      many.writeBytes(entry("f" + i, '0', "", 0));
    }
    put("many-files", many.toByteArray());
    many.reset();
    for (var i = 0; i < 100_000; i++) {
      many.writeBytes(entry("d" + i + "/", '5', "", 0));
    }
    put("many-directories", many.toByteArray());
    Shell.run(
        "sh",
        "-ec",
        """
        cd %s; gzip -k many-files; rm many-files; truncate -s 4G zeros
        tar -cf - zeros | gzip -1 > bomb.tar.gz; rm zeros
        head -c 30000 many-files.gz > cut.gz
        """
            .formatted(directory));
  }

  private static byte[] negative() {
    var out = entry("x", '0', "", 0);
    Arrays.fill(out, 124, 136, (byte) 0xff);
    return summed(out);
  }

  private void put(String name, byte[]... entries) throws IOException {
    write(name, concat(concat(entries), new byte[2 * BLOCK]));
  }

  private void write(String name, byte[] bytes) throws IOException {
    Files.write(directory.resolve(name), bytes);
  }

  static byte[] file(String name, String content) {
    return concat(
        entry(name, '0', "", content.length()),
        Arrays.copyOf(content.getBytes(ISO_8859_1), Math.ceilDiv(content.length(), BLOCK) * BLOCK));
  }

  private static byte[] pax(String key, String value) {
    var rest = " " + key + "=" + value + "\n";
    int length = rest.length() + 1;
    while ((length + rest).length() != length) {
      length++;
    }
    var record = length + rest;
    return concat(
        entry("pax", 'x', "", record.length()),
        Arrays.copyOf(record.getBytes(ISO_8859_1), Math.ceilDiv(record.length(), BLOCK) * BLOCK));
  }

  static byte[] entry(String name, char type, String link, long size) {
    var out = new byte[BLOCK];
    text(out, 0, name);
    text(out, 100, "0000644");
    text(out, 108, "0000000");
    text(out, 116, "0000000");
    text(out, 124, String.format(Locale.ROOT, "%011o", size));
    text(out, 136, "00000000000");
    out[156] = (byte) type;
    text(out, 157, link);
    text(out, 257, "ustar");
    text(out, 263, "00");
    return summed(out);
  }

  private static byte[] summed(byte[] header) {
    Arrays.fill(header, 148, 156, (byte) ' ');
    var sum = 0;
    for (var each : header) {
      sum += each & 0xff;
    }
    text(header, 148, String.format(Locale.ROOT, "%06o\0", sum));
    return header;
  }

  private static void text(byte[] header, int at, String text) {
    var bytes = text.getBytes(ISO_8859_1);
    System.arraycopy(bytes, 0, header, at, bytes.length);
  }

  static byte[] concat(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (var part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }
}
