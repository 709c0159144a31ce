package dev.platter.node.fill;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;

/**
 * Files that somebody made to harm who imports them. Those that lead elsewhere name a file or a
 * port that the test watches.
 */
final class HostileFiles {
  private static final int DATA_FILE = 0x44415441;
  private static final long EXTERNAL_DATA = 1 << 2;

  private final Path dir;
  private final byte[] qcow2;

  private HostileFiles(Path dir, byte[] qcow2) {
    this.dir = dir;
    this.qcow2 = qcow2;
  }

  /**
   * @param named the file that nobody may open
   * @param port of this machine, that nobody may connect to
   */
  static void make(Path dir, Path named, int port) throws IOException {
    var good = dir.resolve("good.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", good, "4M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 7 0 1M", good);
    var files = new HostileFiles(dir, Files.readAllBytes(good));
    Files.delete(good);
    files.thatLeadElsewhere(named, port);
    files.withAbsurdTables();
    files.thatUnpackToTooMuch();
  }

  private void thatLeadElsewhere(Path named, int port) throws IOException {
    backing("backing-absolute", named.toString());
    backing("backing-proc", "/proc/self/environ");
    backing("backing-relative", named.getFileName().toString());
    backing("backing-nbd", "nbd:127.0.0.1:" + port);
    backing("backing-http", "http://127.0.0.1:%d/disk".formatted(port));
    backing("backing-json", "json:{\"driver\":\"file\",\"filename\":\"%s\"}".formatted(named));
    dataFile("data-file", named.toString());
    dataFile("data-file-json", "json:{\"driver\":\"file\",\"filename\":\"%s\"}".formatted(named));
    for (var extent : new String[] {"FLAT", "VMFS", "VMFSRDM", "SPARSE", "VMFSSPARSE"}) {
      descriptor("vmdk-" + extent, "RW 2048 %s \"%s\" 0".formatted(extent, named));
    }
    descriptor("vmdk-above", "RW 2048 FLAT \"../%s\" 0".formatted(named.getFileName()));
    embedded("vmdk-embedded", named);
    Shell.run("tar", "-cf", dir.resolve("archive.tar"), "-C", "/etc", "hostname");
  }

  private void backing(String name, String target) throws IOException {
    var text = target.getBytes(StandardCharsets.UTF_8);
    var bytes = ByteBuffer.wrap(qcow2.clone());
    bytes.putLong(8, 1024).putInt(16, text.length).put(1024, text);
    Files.write(dir.resolve(name), bytes.array());
  }

  private void dataFile(String name, String target) throws IOException {
    var text = target.getBytes(StandardCharsets.UTF_8);
    var bytes = ByteBuffer.wrap(qcow2.clone());
    bytes.putLong(72, EXTERNAL_DATA);
    bytes.position(bytes.getInt(100)).putInt(DATA_FILE).putInt(text.length).put(text);
    bytes.putLong(0).putLong(0);
    Files.write(dir.resolve(name), bytes.array());
  }

  private void descriptor(String name, String extent) throws IOException {
    Files.writeString(dir.resolve(name), text("monolithicFlat", extent) + "\n".repeat(600));
  }

  private static String text(String type, String extent) {
    return """
    # Disk DescriptorFile
    version=1
    CID=12345678
    parentCID=ffffffff
    createType="%s"
    %s
    """
        .formatted(type, extent);
  }

  /** A descriptor inside of an ordinary VMDK that names another file. */
  private void embedded(String name, Path named) throws IOException {
    var file = dir.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "vmdk", file, "1M");
    var bytes = Files.readAllBytes(file);
    var text = text("twoGbMaxExtentSparse", "RW 2048 SPARSE \"%s\"".formatted(named));
    var at = (int) ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong(28) * 512;
    var filled = (text + "\0".repeat(1024)).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(filled, 0, bytes, at, filled.length);
    Files.write(file, bytes);
  }

  private void withAbsurdTables() throws IOException {
    patched("size-2^63", 24, Long.MIN_VALUE);
    patched("size-2^62", 24, 1L << 62);
    patched("l1-size-2^31", 36, 0x80000000);
    patched("l1-size-2^27", 36, 1 << 27);
    patched("l1-far-away", 40, 1L << 50);
    patched("cluster-bits-0", 20, 0);
    patched("cluster-bits-63", 20, 63);
    patched("refcount-order-7", 96, 7);
    patched("header-length-huge", 100, 0x7fffffff);
    patched("encrypted", 32, 2);
    patched("corrupt", 72, 1L << 1);
    patched("unknown-feature", 72, 1L << 40);
    var l1 = ByteBuffer.wrap(qcow2).getLong(40);
    patched("l2-in-itself", (int) l1, l1 | Long.MIN_VALUE);
    patched("l2-is-header", (int) l1, 0x200L);
    vhdx("vhdx-absurd");
    Shell.run(
        "sh",
        "-c",
        "cd %s; printf KDMV >vmdk-cut; head -c 600 /dev/zero >>vmdk-cut".formatted(dir));
    little("vdi", "vdi-size-huge", 372, Integer.MAX_VALUE);
    little("vdi", "vdi-map-far-away", 340, 0xfffffe00);
    little("vdi", "vdi-block-size-1", 376, 1);
    little("vmdk", "vmdk-grain-huge", 20, Integer.MAX_VALUE);
    little("vmdk", "vmdk-capacity-huge", 16, Integer.MAX_VALUE);
  }

  private void patched(String name, int at, long value) throws IOException {
    Files.write(dir.resolve(name), ByteBuffer.wrap(qcow2.clone()).putLong(at, value).array());
  }

  private void patched(String name, int at, int value) throws IOException {
    Files.write(dir.resolve(name), ByteBuffer.wrap(qcow2.clone()).putInt(at, value).array());
  }

  private void little(String format, String name, int at, int value) throws IOException {
    var file = dir.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", format, file, "4M");
    var bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    Files.write(file, bytes.putInt(at, value).array());
  }

  private void vhdx(String name) throws IOException {
    var file = dir.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "vhdx", file, "4M");
    var bytes = Files.readAllBytes(file);
    for (int at = 192 << 10; at < (320 << 10); at++) {
      bytes[at] = (byte) 0xff;
    }
    Files.write(file, bytes);
  }

  private void thatUnpackToTooMuch() throws IOException {
    sh("head -c 1M /dev/urandom | xz -0 -T 1 >window.xz");
    xzOf4GiB(dir.resolve("window.xz"));
    sh("head -c 512M /dev/zero | gzip -1 >bomb.gz");
    sh("head -c 512M /dev/zero | zstd -q >bomb.zst");
    sh("head -c 512M /dev/zero | xz -0 >bomb.xz");
    sh("head -c 1M /dev/zero | zstd -q --ultra --long=31 -22 --no-check >window.zst.plain");
    sh("head -c 1M /dev/urandom | xz -0 >plain.xz; gzip -c plain.xz >nested.xz.gz; rm plain.xz");
    sh("head -c 1M /dev/urandom | gzip -1 | gzip -1 >nested.gz.gz");
    sh("head -c 1M /dev/urandom | zstd -q | gzip -1 >nested.zst.gz");
  }

  /** Its first block says that it needs a dictionary of so much. */
  private static void xzOf4GiB(Path file) throws IOException {
    var bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int end = 12 + 4 * bytes.get(12);
    bytes.put(16, (byte) 40);
    var crc = new CRC32();
    crc.update(bytes.slice(12, end - 12));
    Files.write(file, bytes.putInt(end, (int) crc.getValue()).array());
  }

  private void sh(String command) {
    Shell.run("sh", "-c", "cd " + dir + "; " + command);
  }
}
