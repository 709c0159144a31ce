package dev.platter.image.seekable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.lazy.DiskImage;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Progress;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Container tools see an ordinary layer in it; we see chunks in it and in those of others. */
class SeekableLayerTest {
  private static final long[] BOOT = {90, 5, 91, 92, 17, 40, 60, 61, 62, 63};

  @TempDir Path work;
  private Path raw;

  @BeforeEach
  void makeADisk() throws IOException {
    raw = Files.write(work.resolve("disk.raw"), MixedBytes.of((9 << 20) + 512, 3));
  }

  private record Written(WrittenLayer layer, byte[] blob) {
    ChunkedFile open() throws IOException {
      Descriptor descriptor = layer.layer().descriptor();
      TocPosition toc = LayerAnnotations.tocPosition(descriptor).orElseThrow();
      return SeekableLayer.open(
          slice(blob, toc.offset(), toc.length()),
          toc,
          LayerAnnotations.tocDigest(descriptor).orElseThrow());
    }
  }

  private static byte[] slice(byte[] blob, long from, int length) {
    return Arrays.copyOfRange(blob, (int) from, (int) from + length);
  }

  private Written write(int threads) throws IOException {
    var out = new ByteArrayOutputStream();
    try (RawDisk disk = RawDisk.open(raw)) {
      WrittenLayer layer = new SeekableLayerWriter(threads).write(out, "vm", disk, BOOT);
      return new Written(layer, out.toByteArray());
    }
  }

  private Descriptor addImage() throws IOException {
    try (RawDisk disk = RawDisk.open(raw)) {
      return new OciLayoutWriter(work.resolve("layout"))
          .add(
              "v1",
              new Platform("linux", "arm64"),
              out -> new SeekableLayerWriter(2).write(out, "vm", disk, BOOT).layer());
    }
  }

  private Path unpack(String image) throws IOException {
    ForeignTool.run(work, "umoci", "unpack", "--image", image, "bundle");
    return work.resolve("bundle/rootfs/disk/vm.qcow2");
  }

  @Test
  void umociUnpacksADiskThatQemuFindsCleanAndTheSame() throws IOException {
    addImage();
    Path unpacked = unpack("layout:v1");
    assertThat(Qemu.img("check", "-f", "qcow2", unpacked)).contains("No errors were found");
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", unpacked, raw);
    assertThat(
            ForeignTool.run(
                work, "stat", "-c", "%u:%g %a", unpacked.toString(), "bundle/rootfs/disk"))
        .isEqualTo("107:107 444\n107:107 555\n");
  }

  @Test
  void skopeoKeepsTheImageAndItsAnnotations() throws IOException {
    Descriptor manifest = addImage();
    ForeignTool.sh(
        work,
        """
        skopeo --override-arch arm64 copy -q oci:layout:v1 dir:copy
        skopeo --override-arch arm64 copy -q dir:copy oci:other:v1
        """);
    assertThat(Digest.of(Files.readAllBytes(work.resolve("copy/manifest.json"))))
        .isEqualTo(manifest.digest());
    assertThat(ForeignTool.run(work, "skopeo", "inspect", "--override-arch=arm64", "dir:copy"))
        .contains("\"Architecture\": \"arm64\"");
    Descriptor layer =
        new OciLayout(work.resolve("other"))
            .resolve("v1", new Platform("linux", "arm64"))
            .manifest()
            .layers()
            .getFirst();
    assertThat(layer).isEqualTo(write(1).layer().layer().descriptor());
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", unpack("other:v1"), raw);
  }

  @Test
  void progressGoesToTheEndAndChangesNothing() throws IOException {
    List<Long> done = new ArrayList<>();
    var out = new ByteArrayOutputStream();
    var trace = BootTrace.of(Files.size(raw), Arrays.stream(BOOT).mapToInt(b -> (int) b).toArray());
    try (RawDisk disk = RawDisk.open(raw)) {
      WrittenLayer layer =
          new SeekableLayerWriter(2)
              .write(
                  out,
                  "vm",
                  disk,
                  trace,
                  (bytes, total) -> {
                    done.add(bytes);
                    assertThat(bytes).isLessThanOrEqualTo(total);
                  });
      assertThat(LayerAnnotations.bootTrace(layer.layer().descriptor()))
          .hasValue(Digest.of(trace.toBytes()));
      assertThat(done)
          .isSorted()
          .hasSize(new Written(layer, out.toByteArray()).open().chunks().size());
    }
    assertThat(out.toByteArray()).isEqualTo(write(1).blob);
  }

  @Test
  void itIsStillALayerThatCanBeExtractedWhole() throws IOException {
    addImage();
    var layout = new OciLayout(work.resolve("layout"));
    Path spool = Files.createDirectory(work.resolve("spool"));
    var manifest = layout.resolve("v1", new Platform("linux", "arm64")).manifest();
    Path file = DiskImage.extract(layout, manifest, spool, Progress.NONE).file();
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", file, raw);
  }

  @Test
  void theLayerIsAsTheSpecificationSays() throws IOException {
    Written written = write(2);
    Files.write(work.resolve("layer"), written.blob);
    String script = resource("estargz.py").toString();
    assertThat(ForeignTool.run(work, "python3", script, "layer"))
        .isEqualTo(
            "%s %d %d\n"
                .formatted(
                    written.layer.tocDigest(),
                    written.layer.toc().offset(),
                    written.open().chunks().size() + 5));
    assertThat(Digest.of(written.blob)).isEqualTo(written.layer.digest());
    assertThat(written.layer.size()).isEqualTo(written.blob.length);
    ForeignTool.sh(work, "gzip -dc < layer > tar");
    assertThat(Files.size(work.resolve("tar"))).isEqualTo(written.layer.uncompressedSize());
    assertThat(Digest.of(Files.readAllBytes(work.resolve("tar"))))
        .isEqualTo(written.layer.diffId());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 16})
  void theNumberOfThreadsDoesNotShow(int threads) throws IOException {
    assertThat(write(threads).blob).isEqualTo(write(2).blob);
  }

  @Test
  void everyChunkIsItsPartOfTheFile() throws IOException {
    Written written = write(2);
    ChunkedFile layer = written.open();
    addImage();
    byte[] file = Files.readAllBytes(unpack("layout:v1"));
    assertThat(layer.name()).isEqualTo("disk/vm.qcow2");
    assertThat(layer.size()).isEqualTo(file.length);
    assertThat(layer.chunks()).hasSizeGreaterThan(20);
    for (Chunk chunk : layer.chunks()) {
      byte[] plain =
          layer.decode(chunk, slice(written.blob, chunk.blobOffset(), chunk.blobLength()));
      assertThat(plain).isEqualTo(slice(file, chunk.fileOffset(), chunk.plainSize()));
      assertThat(layer.chunks().get(layer.chunkAt(chunk.fileOffset()))).isEqualTo(chunk);
      assertThat(layer.chunks().get(layer.chunkAt(chunk.fileOffset() + chunk.plainSize() - 1)))
          .isEqualTo(chunk);
    }
    assertThatThrownBy(() -> layer.chunkAt(file.length))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void theFooterLeadsWhereTheAnnotationsLead() throws IOException {
    Written written = write(2);
    int footer = written.blob.length - SeekableLayer.FOOTER_SIZE;
    assertThat(
            SeekableLayer.findFooter(
                slice(written.blob, footer, SeekableLayer.FOOTER_SIZE), written.blob.length))
        .isEqualTo(written.layer.toc());
  }

  /** What is at the front of the file is at the front of the layer, and enough to find all else. */
  @Test
  void theBootPrefixHoldsTablesAndBootOrderAndLittleElse() throws IOException {
    Written written = write(2);
    long prefix = LayerAnnotations.bootPrefix(written.layer.layer().descriptor()).orElseThrow();
    // Five clusters of tables and those of the ten blocks that are not all zeros.
    long blocks = Arrays.stream(BOOT).filter(b -> !isZero(b)).count();
    long end = (5 + blocks) * 65536;
    for (Chunk chunk : written.open().chunks()) {
      boolean wanted = chunk.fileOffset() < end;
      assertThat(chunk.blobOffset() + chunk.blobLength() <= prefix).isEqualTo(wanted);
    }
  }

  private boolean isZero(long block) {
    byte[] bytes = MixedBytes.of((9 << 20) + 512, 3);
    for (byte b : slice(bytes, block * 65536, 65536)) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  @Test
  void chunksGrowWithTheDiskOnlyWhenTheyMust() throws IOException {
    assertThat(SeekableLayerWriter.chunkSize(1)).isEqualTo(256 << 10);
    assertThat(SeekableLayerWriter.chunkSize(128L << 30)).isEqualTo(256 << 10);
    assertThat(SeekableLayerWriter.chunkSize((128L << 30) + 1)).isEqualTo(512 << 10);
    assertThat(SeekableLayerWriter.chunkSize(2L << 40)).isEqualTo(4 << 20);
    assertThatThrownBy(() -> SeekableLayerWriter.chunkSize((2L << 40) + 1))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("is the most for a layer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "../x", "a/b", ".hidden", "-x", "a b"})
  void namesThatAreNoFileNameAreRefused(String name) throws IOException {
    try (RawDisk disk = RawDisk.open(raw)) {
      assertThatThrownBy(
              () -> new SeekableLayerWriter(1).write(new ByteArrayOutputStream(), name, disk))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "chunks-of-10000, 4, 03aca4c659ea5c7e0b47dead1e7b5f8542ac6e9f4831683ceea2d6ed0d5a8d07",
    "chunks-of-16384, 3, 55d55dd27fb4cdf1cb6010c7ad30ac9a0828350d628ab8a6f65bf7e762258dd1",
    "one-chunk, 1, 0a7ffbfafe1a176368b764705e8b0ef669af5c91b3ba5f1771d3f05d8df065bf"
  })
  void layersOfContainerdsOwnWriterAreRead(String name, int chunks, String toc) throws IOException {
    byte[] blob = Files.readAllBytes(resource(name + ".esgz"));
    ChunkedFile layer = openForeign(blob, toc);
    assertThat(layer.name()).isEqualTo("disk/vm.img");
    assertThat(layer.chunks()).hasSize(chunks);
    var file = new ByteArrayOutputStream();
    for (Chunk chunk : layer.chunks()) {
      file.writeBytes(layer.decode(chunk, slice(blob, chunk.blobOffset(), chunk.blobLength())));
    }
    assertThat(Digest.of(file.toByteArray()).hex())
        .isEqualTo("5dab9ab05172d9a309604e410332e9770c1384288e7831547e1d9db352bea25b");
  }

  @Test
  void aDiskThatSharesItsGzipMemberIsRead() throws IOException {
    byte[] blob = Files.readAllBytes(resource("shared-member.esgz"));
    Files.write(work.resolve("layer.tar.gz"), blob);
    ForeignTool.sh(work, "tar -xzf layer.tar.gz disk");
    String toc = "32b5d2785a338dc4c42df424d2ef9ebe7edb032f1b146a1fbb9b5512d4c1c366";
    ChunkedFile layer = openForeign(blob, toc);
    var file = new ByteArrayOutputStream();
    for (Chunk chunk : layer.chunks()) {
      file.writeBytes(layer.decode(chunk, slice(blob, chunk.blobOffset(), chunk.blobLength())));
    }
    assertThat(work.resolve(layer.name())).hasBinaryContent(file.toByteArray());
  }

  private static ChunkedFile openForeign(byte[] blob, String toc) throws IOException {
    int footer = blob.length - SeekableLayer.FOOTER_SIZE;
    TocPosition position =
        SeekableLayer.findFooter(slice(blob, footer, SeekableLayer.FOOTER_SIZE), blob.length);
    return SeekableLayer.open(
        slice(blob, position.offset(), position.length()), position, Digest.ofHex(toc));
  }

  private static Path resource(String name) {
    return Path.of("src/test/resources/dev/platter/image/seekable", name).toAbsolutePath();
  }
}
