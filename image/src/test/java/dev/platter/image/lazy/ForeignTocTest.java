package dev.platter.image.lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.Progress;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.image.testing.MixedBytes;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tables of contents: how many requests they take, and what lies in them lead to. */
class ForeignTocTest {
  private static final String STARGZ = "containerd.io/snapshot/stargz/toc.digest";
  private static final String CHECKSUM = "io.github.containers.zstd-chunked.manifest-checksum";
  private static final String POSITION = "io.github.containers.zstd-chunked.manifest-position";

  @TempDir Path work;

  @Test
  void ourOwnLayersTakeOneRequestAndNoConfig() throws IOException {
    Path raw = Files.write(work.resolve("raw"), MixedBytes.of(3 << 20, 5));
    var out = new ByteArrayOutputStream();
    Descriptor layer;
    try (RawDisk disk = RawDisk.open(raw)) {
      layer = new SeekableLayerWriter(1).write(out, "vm", disk).layer().descriptor();
    }
    var image = new MemoryImage().layer(layer, out.toByteArray(), new byte[0]);
    DiskLocation location = DiskLocator.of(image, image.manifest(), LayerIndexes.NONE).locate();
    assertThat(location).isInstanceOf(DiskLocation.Chunked.class);
    assertThat(image.ranges).isEqualTo(1);
    assertThat(image.opened).isEmpty();
  }

  private static MemoryImage estargz(String file, String toc) throws IOException {
    byte[] blob =
        Files.readAllBytes(Path.of("src/test/resources/dev/platter/image/seekable", file));
    byte[] tar;
    try (var gzip = new GZIPInputStream(new ByteArrayInputStream(blob))) {
      tar = gzip.readAllBytes();
    }
    var layer =
        new Descriptor(
            MediaTypes.OCI_LAYER_GZIP,
            Digest.of(blob),
            blob.length,
            Map.of(STARGZ, "sha256:" + toc),
            null);
    return new MemoryImage().layer(layer, blob, tar);
  }

  @ParameterizedTest
  @CsvSource({
    "chunks-of-10000, 03aca4c659ea5c7e0b47dead1e7b5f8542ac6e9f4831683ceea2d6ed0d5a8d07",
    "shared-member, 32b5d2785a338dc4c42df424d2ef9ebe7edb032f1b146a1fbb9b5512d4c1c366"
  })
  void layersOfContainerdTakeTwoRequestsAndAreTheSameAsAStream(String name, String toc)
      throws IOException {
    MemoryImage image = estargz(name + ".esgz", toc);
    var locator = DiskLocator.of(image, image.manifest(), LayerIndexes.NONE);
    var chunked = (DiskLocation.Chunked) locator.locate();
    assertThat(image.ranges).isEqualTo(2);
    assertThat(image.opened).isEmpty();
    var file = new ByteArrayOutputStream();
    for (Chunk chunk : chunked.file().chunks()) {
      try (var in = image.open(chunked.layer(), chunk.blobOffset(), chunk.blobLength())) {
        file.writeBytes(chunked.file().decode(chunk, in.readAllBytes()));
      }
    }
    var taken = new DiskWaysTest.Taken();
    DiskLocator.streaming(image, image.manifest(), 1 << 30).stream(taken, _ -> {}, Progress.NONE);
    assertThat(file.toByteArray()).isEqualTo(taken.bytes.toByteArray());
  }

  @Test
  void aTableThatIsNotTheOneOfTheManifestIsRefused() throws IOException {
    MemoryImage image = estargz("one-chunk.esgz", "0".repeat(64));
    assertThatThrownBy(() -> DiskLocator.of(image, image.manifest(), LayerIndexes.NONE).locate())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("table of contents is refused")
        .hasMessageContaining("the manifest says sha256:0000");
  }

  /** A layer of one frame and this table; an enemy may write any. */
  private static MemoryImage zstd(byte[] frame, String json, String position) {
    byte[] table = Zstd.compress(json.getBytes(StandardCharsets.UTF_8));
    byte[] blob = new byte[8 + frame.length + table.length];
    System.arraycopy(frame, 0, blob, 8, frame.length);
    System.arraycopy(table, 0, blob, 8 + frame.length, table.length);
    String place =
        position.isEmpty()
            ? "%d:%d:%d:1".formatted(8 + frame.length, table.length, json.length())
            : position;
    var layer =
        new Descriptor(
            MediaTypes.OCI_LAYER + "+zstd",
            Digest.of(blob),
            blob.length,
            Map.of(CHECKSUM, Digest.of(table).toString(), POSITION, place),
            null);
    return new MemoryImage().layer(layer, blob, new byte[0]);
  }

  private static final byte[] PLAIN = MixedBytes.of(5000, 7);
  private static final String GOOD =
      """
      {"version": 1, "entries": [{"name": "disk/x", "type": "reg", "size": 5000, "offset": 8,
        "endOffset": 5000, "digest": "DIGEST"}]}
      """
          .replace("DIGEST", Digest.of(PLAIN).toString());

  private static DiskLocation locate(MemoryImage image) throws IOException {
    return DiskLocator.of(image, image.manifest(), LayerIndexes.NONE).locate();
  }

  @Test
  void aFileOfOneChunkHasNoChunkDigest() throws IOException {
    MemoryImage image = zstd(Zstd.compress(PLAIN), GOOD, "");
    var chunked = (DiskLocation.Chunked) locate(image);
    Chunk chunk = chunked.file().chunks().getFirst();
    assertThat(chunked.file().chunks()).hasSize(1);
    try (var in = image.open(chunked.layer(), chunk.blobOffset(), chunk.blobLength())) {
      assertThat(chunked.file().decode(chunk, in.readAllBytes())).isEqualTo(PLAIN);
    }
    byte[] frame = Zstd.compress(PLAIN);
    for (byte[] bad :
        new byte[][] {
          new byte[0],
          Arrays.copyOf(frame, frame.length - 1),
          Zstd.compress(new byte[5000]),
          Zstd.compress(new byte[50 << 20]),
          Zstd.compress(new byte[10]),
          PLAIN
        }) {
      assertThatThrownBy(() -> chunked.file().decode(chunk, bad))
          .isInstanceOf(BadImageException.class)
          .hasMessageStartingWith("the chunk at byte 0 of the disk file");
    }
  }

  @Test
  void aHoleIsZerosWhateverTheLayerHas() throws IOException {
    long size = 40L << 30;
    String json =
        """
        {"version": 1, "entries": [
          {"name": "disk/x", "type": "reg", "size": %d, "offset": 8, "chunkSize": %d,
           "chunkDigest": "%s", "chunkType": "zeros"}]}
        """
            .formatted(size, size, Digest.of(new byte[0]));
    MemoryImage image = zstd(new byte[100], json, "");
    ChunkedFile file = ((DiskLocation.Chunked) locate(image)).file();
    assertThat(file.chunks()).hasSize((int) (size / ChunkedFile.MAX_CHUNK));
    Chunk last = file.chunks().getLast();
    assertThat(Digest.of(file.decode(last, new byte[1]))).isEqualTo(last.digest());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "8:10:20:2 | no position of a zstd:chunked layer",
        "8:10:20 | no position of a zstd:chunked layer",
        "-8:10:20:1 | no position of a zstd:chunked layer",
        "999999:10:20:1 | outside of a layer",
        "8:0:20:1 | outside of a layer",
        "8:10:999999999:1 | are the most",
        "8:10:20:1 | the manifest says",
      })
  void aPositionThatMakesNoSenseIsRefused(String position, String why) {
    MemoryImage image = zstd(Zstd.compress(PLAIN), GOOD, position);
    assertThatThrownBy(() -> locate(image))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("table of contents")
        .hasMessageContaining("the manifest")
        .hasMessageContaining(why.strip());
  }

  @Test
  void aTableThatUnpacksToMoreThanTheManifestSaysIsRefused() {
    byte[] table = Zstd.compress(GOOD.getBytes(StandardCharsets.UTF_8));
    byte[] frame = Zstd.compress(PLAIN);
    String position = "%d:%d:%d:1".formatted(8 + frame.length, table.length, GOOD.length() - 1);
    assertThatThrownBy(() -> locate(zstd(frame, GOOD, position)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("does not unpack to the bytes that the manifest says");
  }

  /** Whoever wrote the table also wrote the layer: the stream shows the lie. */
  @Test
  void aFileWithAChunkThatIsTooLargeIsStreamed() throws IOException {
    String json = GOOD.replace("5000, \"offset\"", "99999999, \"offset\"");
    assertThat(json).isNotEqualTo(GOOD);
    MemoryImage image = zstd(Zstd.compress(PLAIN), json, "");
    assertThat(locate(image)).isInstanceOf(DiskLocation.Streamed.class);
  }
}
