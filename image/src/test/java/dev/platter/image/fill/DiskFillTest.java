package dev.platter.image.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.stream.OutOfOrder;
import dev.platter.image.testing.Loop;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What comes out is what qemu-img makes of the same file. */
class DiskFillTest {
  private static final int SIZE = 9 << 20;

  /** In memory: nothing here is about what a disk does with a sync. */
  static final class InMemory implements TempDirFactory {
    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context)
        throws IOException {
      return Files.createTempDirectory(Path.of("/dev/shm"), "fill-");
    }
  }

  @TempDir(factory = InMemory.class)
  static Path shared;

  @TempDir(factory = InMemory.class)
  Path dir;

  private static Path raw = Path.of("");

  @BeforeAll
  static void makeDisk() throws IOException {
    byte[] bytes = MixedBytes.of(SIZE, 11);
    Arrays.fill(bytes, 3 << 20, 5 << 20, (byte) 0);
    raw = Files.write(shared.resolve("disk.raw"), bytes);
  }

  /** As a stream, so that nothing can be read twice. */
  private Filled stream(Path file, Path to) throws IOException {
    try (InputStream in = Files.newInputStream(file);
        RawTarget target = RawTarget.create(to)) {
      return new DiskFill(target, -1, null, null, _ -> {}).from(in, Files.size(file));
    }
  }

  private Filled random(Path file, Path to) throws IOException {
    try (var in = FileChannel.open(file);
        RawTarget target = RawTarget.create(to)) {
      return new DiskFill(target, -1, null, null, _ -> {}).from(ByteSource.of(in));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "raw,,RAW",
    "qcow2,,QCOW2",
    "qcow2,cluster_size=512,QCOW2",
    "qcow2,cluster_size=2M,QCOW2",
    "qcow2,extended_l2=on,QCOW2",
    "qcow2,compat=0.10,QCOW2",
    "vdi,,VDI",
    "vdi,static=on,VDI",
    "vpc,,VHD",
    "vpc,force_size=on,VHD",
    "vpc,subformat=fixed,RAW",
    "vhdx,,VHDX",
    "vhdx,block_size=32M,VHDX",
    "vmdk,,VMDK",
    "vmdk,subformat=streamOptimized,VMDK"
  })
  void whateverQemuWritesIsTheSameDisk(String format, String options, Format found)
      throws IOException {
    Path file = dir.resolve("file");
    if (options == null) {
      Qemu.img("convert", "-f", "raw", "-O", format, raw, file);
    } else {
      Qemu.img("convert", "-f", "raw", "-O", format, "-o", options, raw, file);
    }
    Path theirs = dir.resolve("theirs");
    Qemu.img("convert", "-f", format, "-O", "raw", file, theirs);
    Filled filled = stream(file, dir.resolve("ours"));
    assertThat(filled.format()).isEqualTo(found);
    assertThat(filled.digest().hex()).isEqualTo(dev.platter.image.testing.Digest.ofFile(file));
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(theirs);
    assertThat(filled.size()).isEqualTo(Files.size(theirs));
    random(file, dir.resolve("again"));
    assertThat(dir.resolve("again")).hasSameBinaryContentAs(theirs);
    assertThat(Qemu.allocated(dir.resolve("ours")))
        .isLessThanOrEqualTo(Qemu.allocated(theirs) + 65536);
  }

  /** Its first frame is one to be skipped, that says how long the next is. */
  @Test
  void whatPzstdPacksIsUnpackedAsPzstdDoes() throws IOException {
    ForeignTool.sh(dir, "pzstd -q -p 2 -k " + raw + " -o packed");
    Path packed = dir.resolve("packed");
    byte[] first = new byte[4];
    try (InputStream in = Files.newInputStream(packed)) {
      in.readNBytes(first, 0, 4);
    }
    assertThat(first).containsExactly(0x50, 0x2a, 0x4d, 0x18);
    Filled filled = stream(packed, dir.resolve("ours"));
    assertThat(filled.format()).isEqualTo(Format.RAW);
    ForeignTool.sh(dir, "pzstd -q -dc packed | cmp - ours");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zlib", "zstd"})
  void packedClustersAreUnpackedAsTheyCome(String method) throws IOException {
    Path file = dir.resolve("file");
    Qemu.img(
        "convert", "-c", "-f", "raw", "-O", "qcow2", "-o", "compression_type=" + method, raw, file);
    assertThat(stream(file, dir.resolve("ours")).format()).isEqualTo(Format.QCOW2);
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(raw);
  }

  /** QEMU fills up the cluster where the last one ended, also behind a new table. */
  @ParameterizedTest
  @ValueSource(ints = {512, 1024, 4096})
  void packedClustersAreUnpackedWhereverTheirTablesAre(int cluster) throws IOException {
    Path file = dir.resolve("file");
    Path text = dir.resolve("text");
    ForeignTool.sh(dir, "seq 1 1000000 | head -c 5M >text");
    String size = "cluster_size=" + cluster;
    Qemu.img("convert", "-c", "-f", "raw", "-O", "qcow2", "-o", size, text, file);
    stream(file, dir.resolve("ours"));
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(text);
  }

  /** Each takes as much as it would unpacked, so that they lie like data. */
  @Test
  void grainsThatHardlyPackAreAllThere() throws IOException {
    Path file = dir.resolve("file");
    Path grains = dir.resolve("grains");
    ForeignTool.sh(
        dir,
        "for i in 1 2 3; do head -c 65336 /dev/urandom; head -c 200 /dev/zero; done >grains;"
            + " seq 1 100000 | head -c 65536 >>grains");
    Qemu.img("convert", "-f", "raw", "-O", "vmdk", "-o", "subformat=streamOptimized", grains, file);
    stream(file, dir.resolve("ours"));
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(grains);
  }

  @Test
  void aPackedQcow2ThatWasCutShortIsRefused() throws IOException {
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, dir.resolve("file"));
    ForeignTool.sh(dir, "truncate -s -300000 file; gzip -1 file");
    assertThatThrownBy(() -> stream(dir.resolve("file.gz"), dir.resolve("ours")))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("the file ends at");
  }

  @Test
  void aGzipOfSeveralMembersIsReadToItsEnd() throws IOException {
    ForeignTool.sh(
        dir,
        "head -c 3M %s >a; tail -c +3145729 %1$s >b; gzip -1 a; gzip -1 b; cat a.gz b.gz >both;"
                .formatted(raw)
            + " (cat both; head -c 1000 /dev/zero) >padded;"
            + " (cat a.gz; printf x; tail -c +2 b.gz) >damaged; (cat both; echo x) >more");
    for (String name : new String[] {"both", "padded"}) {
      stream(dir.resolve(name), dir.resolve(name + ".raw"));
      assertThat(dir.resolve(name + ".raw")).hasSameBinaryContentAs(raw);
    }
    for (String name : new String[] {"damaged", "more"}) {
      assertThatThrownBy(() -> stream(dir.resolve(name), dir.resolve(name + ".raw")))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining("gzip");
    }
  }

  @ParameterizedTest
  @CsvSource({"gzip -c,QCOW2", "xz -c -1,RAW", "zstd -c -q,QCOW2", "zstd -c -q,RAW", "gzip -c,VHD"})
  void outerPackingIsTakenOff(String tool, Format inner) throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", inner == Format.VHD ? "vpc" : inner, raw, file);
    Path theirs = dir.resolve("theirs");
    Qemu.img("convert", "-f", inner == Format.VHD ? "vpc" : inner, "-O", "raw", file, theirs);
    ForeignTool.sh(dir, tool + " <file >packed");
    Filled filled = stream(dir.resolve("packed"), dir.resolve("ours"));
    assertThat(filled.format()).isEqualTo(inner);
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(theirs);
    assertThat(ForeignTool.run(dir, "sha256sum", "packed")).startsWith(filled.digest().hex());
    ForeignTool.sh(dir, "head -c 20000 <packed >short");
    assertThatThrownBy(() -> stream(dir.resolve("short"), dir.resolve("nothing")))
        .isInstanceOf(BadImageException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"qcow2", "vdi", "vhdx", "vmdk", "vpc"})
  void aFileThatWasCutShortIsRefused(String format) throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", format, raw, file);
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(channel.size() / 2);
    }
    assertThatThrownBy(() -> stream(file, dir.resolve("ours")))
        .isInstanceOf(BadImageException.class);
  }

  /** A guest wrote here and there, so that tables come in the middle. */
  @Test
  void tablesThatComeALittleLateAreWaitedFor() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("create", "-f", "qcow2", "-o", "cluster_size=4k", file, SIZE);
    for (int i = 0; i < 8; i++) {
      int at = (i * 5 % 8) << 20;
      Qemu.io(file, "qcow2", "write -P " + (i + 1) + " " + at + " 40k", "discard " + at + " 8k");
    }
    Qemu.io(file, "qcow2", "write -P 77 8M 12k");
    Qemu.img("resize", "-f", "qcow2", file, "64M"); // moves the L1 table to the end
    Qemu.io(file, "qcow2", "write -P 78 60M 12k");
    Path theirs = dir.resolve("theirs");
    Qemu.img("convert", "-f", "qcow2", "-O", "raw", file, theirs);
    stream(file, dir.resolve("ours"));
    assertThat(dir.resolve("ours")).hasSameBinaryContentAs(theirs);
  }

  @Test
  void tablesThatComeTooLateNeedAFileThatCanBeReadAnywhere() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("create", "-f", "qcow2", file, "100M");
    Qemu.io(file, "qcow2", "write -P 5 0 80M");
    Qemu.img("resize", "-f", "qcow2", file, "2G");
    assertThatThrownBy(() -> stream(file, dir.resolve("ours")))
        .isInstanceOf(OutOfOrder.class)
        .hasMessageContaining("qemu-img convert");
    random(file, dir.resolve("again"));
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", file, dir.resolve("again"));
  }

  @Test
  void aDeviceHoldsTheDiskAndZerosBehindIt() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, file);
    try (Loop loop = new Loop(dir, "12M");
        RawTarget target = RawTarget.device(loop.device());
        InputStream in = Files.newInputStream(file)) {
      Qemu.io(loop.device(), "raw", "write -P 255 0 12M");
      new DiskFill(target, 12 << 20, null, null, _ -> {}).from(in, -1);
      ForeignTool.sh(
          dir,
          "truncate -s 12M theirs; dd conv=notrunc status=none if=%s of=theirs".formatted(raw));
      ForeignTool.sh(dir, "cmp theirs " + loop.device());
    }
  }

  @Test
  void aDiskThatDoesNotFitIsRefusedBeforeAByteIsWritten() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, file);
    Path to = dir.resolve("to");
    try (RawTarget target = RawTarget.create(to);
        InputStream in = Files.newInputStream(file)) {
      assertThatThrownBy(() -> new DiskFill(target, 8 << 20, null, null, _ -> {}).from(in, -1))
          .isInstanceOf(TooLarge.class)
          .hasMessageContaining("9437184 bytes, and there is room for 8388608");
    }
    assertThat(to).isEmptyFile();
  }

  /** It would unpack to 256 MiB, of which no more is read than fits. */
  @ParameterizedTest
  @ValueSource(strings = {"gzip -1 -c", "zstd -q -c"})
  void aBombStopsWhereTheRoomEnds(String tool) throws IOException {
    ForeignTool.sh(dir, "head -c 256M /dev/zero | " + tool + " >bomb");
    var read = new AtomicLong();
    try (RawTarget target = RawTarget.create(dir.resolve("to"));
        InputStream in = Files.newInputStream(dir.resolve("bomb"))) {
      var fill = new DiskFill(target, 8 << 20, null, null, read::set);
      assertThatThrownBy(() -> fill.from(in, -1)).isInstanceOf(TooLarge.class);
    }
    assertThat(read.get())
        .isLessThanOrEqualTo(Math.max(65536, Files.size(dir.resolve("bomb")) / 2));
  }

  @Test
  void aDigestThatDiffersIsRefused() throws IOException {
    try (RawTarget target = RawTarget.create(dir.resolve("to"));
        InputStream in = Files.newInputStream(raw)) {
      var fill = new DiskFill(target, -1, null, Digest.of(new byte[1]), _ -> {});
      assertThatThrownBy(() -> fill.from(in, -1)).hasMessageContaining("has the digest sha256:");
    }
  }

  /** Names of other files are never looked at: each is refused by what comes first. */
  /** As of a web server that shows one file to who decodes and another to who hashes. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void whatAnswersOtherwiseEachTimeIsRefused(int lie) throws IOException {
    Path file = dir.resolve("file.qcow2");
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, file);
    byte[] bytes = Files.readAllBytes(file);
    int somewhere = bytes.length - 70_000;
    var reads = new AtomicLong();
    ByteSource liar =
        new ByteSource() {
          @Override
          public long size() {
            return bytes.length;
          }

          @Override
          public int read(ByteBuffer into, long position) throws IOException {
            byte[] told = bytes;
            boolean there = position <= somewhere && somewhere < position + into.remaining();
            if (there && reads.incrementAndGet() == lie) {
              told = bytes.clone();
              told[somewhere] ^= 1;
            }
            return ByteSource.of(told).read(into, position);
          }
        };
    Digest meant = Digest.of(bytes);
    try (RawTarget target = RawTarget.create(dir.resolve("ours"))) {
      assertThatThrownBy(() -> new DiskFill(target, -1, null, meant, _ -> {}).from(liar))
          .isInstanceOf(BadImageException.class);
    }
    try (RawTarget target = RawTarget.create(dir.resolve("honest"))) {
      var filled = new DiskFill(target, -1, null, meant, _ -> {}).from(ByteSource.of(bytes));
      assertThat(filled.digest()).isEqualTo(meant);
    }
    assertThat(dir.resolve("honest")).hasSameBinaryContentAs(raw);
  }

  @Test
  void whatLeadsToAnotherFileIsRefused() throws IOException {
    Path base = dir.resolve("base");
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, base);
    Qemu.img("create", "-f", "qcow2", "-b", base, "-F", "qcow2", dir.resolve("backed"));
    Qemu.img(
        "create", "-f", "qcow2", "-o", "data_file=" + dir.resolve("d"), dir.resolve("split"), "1M");
    Qemu.img("convert", "-f", "raw", "-O", "vmdk", raw, dir.resolve("base.vmdk"));
    Qemu.img(
        "create",
        "-f",
        "vmdk",
        "-b",
        dir.resolve("base.vmdk"),
        "-F",
        "vmdk",
        dir.resolve("child.vmdk"));
    Qemu.img(
        "create", "-f", "vmdk", "-o", "subformat=monolithicFlat", dir.resolve("flat.vmdk"), "1M");
    Files.delete(base);
    for (String name : new String[] {"backed", "split", "child.vmdk", "flat.vmdk"}) {
      Path to = dir.resolve(name + ".out");
      assertThatThrownBy(() -> stream(dir.resolve(name), to)).isInstanceOf(BadImageException.class);
      assertThat(to).isEmptyFile();
    }
  }

  @Test
  void aFormatIsWhatWasSaidAndNotWhatAGuestWrote() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", "qcow2", raw, file);
    try (RawTarget target = RawTarget.create(dir.resolve("to"));
        InputStream in = Files.newInputStream(file)) {
      new DiskFill(target, -1, Format.RAW, null, _ -> {}).from(in, -1);
    }
    assertThat(dir.resolve("to")).hasSameBinaryContentAs(file);
  }

  /** The last sector of a disk is a guest's, who can write there what looks like a footer. */
  @Test
  void aFooterCountsOnlyIfTheDiskIsNotSaidToBeRaw() throws IOException {
    Path file = dir.resolve("file");
    Qemu.img("convert", "-f", "raw", "-O", "vpc", "-o", "subformat=fixed", raw, file);
    stated(file, Format.RAW, "raw");
    assertThat(dir.resolve("raw")).hasSameBinaryContentAs(file);
    stated(file, Format.VHD, "vhd");
    Qemu.img("convert", "-f", "vpc", "-O", "raw", file, dir.resolve("theirs"));
    assertThat(dir.resolve("vhd")).hasSameBinaryContentAs(dir.resolve("theirs"));
    assertThatThrownBy(() -> stated(raw, Format.VHD, "none"))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("footer");
  }

  private void stated(Path file, Format format, String to) throws IOException {
    try (RawTarget target = RawTarget.create(dir.resolve(to));
        InputStream in = Files.newInputStream(file)) {
      new DiskFill(target, -1, format, null, _ -> {}).from(in, Files.size(file));
    }
  }

  @Test
  void absurdNumbersInHeadersAreRefusedWithLittleMemory() throws IOException {
    ByteBuffer vdi = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
    vdi.putInt(64, 0xbeda107f).putInt(68, 0x10001).putInt(76, 1).putInt(360, 512);
    vdi.putInt(340, 512).putInt(344, 1 << 20).putInt(376, 1 << 20).putInt(384, -1);
    vdi.putLong(368, 1L << 60);
    refused(vdi.array());
    vdi.putLong(368, 8L << 40); // As much as can be, of which nothing is there.
    refused(vdi.array());
    ByteBuffer vmdk = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
    vmdk.put("KDMV".getBytes()).putInt(1).putInt(3).putLong(Long.MAX_VALUE).putLong(128);
    vmdk.putInt(73, 0x0a0d200a);
    refused(vmdk.array());
    refused("vhdxfile".getBytes());
    refused("conectix".getBytes());
    refused(new byte[0]);
    refused("PK\003\004 a zip".getBytes());
    refused("<html>".getBytes());
  }

  private void refused(byte[] bytes) throws IOException {
    Path to = Files.createTempFile(dir, "to", "");
    try (RawTarget target = RawTarget.emptied(to)) {
      assertThatThrownBy(
              () ->
                  new DiskFill(target, -1, null, null, _ -> {})
                      .from(new ByteArrayInputStream(bytes), -1))
          .isInstanceOf(BadImageException.class);
    }
  }
}
