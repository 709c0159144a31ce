package dev.platter.image.lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.ExtractedDisk;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.Progress;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DiskImageTest {
  private static final byte[] DISK = "a disk".getBytes(StandardCharsets.UTF_8);

  @TempDir Path spool;

  private ExtractedDisk extract(MemoryImage image) throws IOException {
    return DiskImage.extract(image, image.manifest(), spool, Progress.NONE);
  }

  private void assertRefused(MemoryImage image, String why) throws IOException {
    assertRefused(image, image.manifest(), why);
  }

  private void assertRefused(MemoryImage image, Manifest manifest, String why) throws IOException {
    assertThatThrownBy(() -> DiskImage.extract(image, manifest, spool, Progress.NONE, 1 << 20))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
    try (Stream<Path> left = Files.list(spool)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void theFormatIsToldByTheFirstBytes() throws IOException {
    byte[] qcow2 = {'Q', 'F', 'I', (byte) 0xfb, 0, 0, 0, 3};
    ExtractedDisk disk =
        extract(new MemoryImage().gzipLayer(MemoryImage.tarWith("./disk/x.img", qcow2)));
    assertThat(disk.format()).isEqualTo(ExtractedDisk.Format.QCOW2);
    assertThat(disk.name()).isEqualTo("x.img");
    assertThat(disk.file()).hasBinaryContent(qcow2);
    assertThat(extract(new MemoryImage().plainLayer(MemoryImage.tarWith("disk/x", DISK))).format())
        .isEqualTo(ExtractedDisk.Format.RAW);
  }

  @Test
  void zerosBecomeHoles() throws IOException {
    byte[] disk = new byte[40 << 20];
    disk[20 << 20] = 1;
    ExtractedDisk extracted =
        extract(new MemoryImage().gzipLayer(MemoryImage.tarWith("disk/x", disk)));
    assertThat(extracted.file()).hasBinaryContent(disk);
    String kib = ForeignTool.run(spool, "du", "-k", extracted.file().toString()).split("\t")[0];
    assertThat(Integer.parseInt(kib)).isLessThanOrEqualTo(128);
  }

  @Test
  void zstdLayersAreRead() throws IOException {
    byte[] tar = MemoryImage.tarWith("disk/x", DISK);
    byte[] packed = Zstd.compress(tar);
    var layer = new Descriptor(MediaTypes.OCI_LAYER + "+zstd", Digest.of(packed), packed.length);
    assertThat(extract(new MemoryImage().layer(layer, packed, tar)).file()).hasBinaryContent(DISK);
  }

  @Test
  void aLayerOfManyGzipMembersIsReadToItsEnd() throws IOException {
    byte[] random = new byte[300_000];
    new Random(1).nextBytes(random);
    byte[] tar = MemoryImage.tarWith("disk/x", random);
    var packed = new java.io.ByteArrayOutputStream();
    for (int at = 0; at < tar.length; at += 1000) {
      packed.write(MemoryImage.gzip(Arrays.copyOfRange(tar, at, Math.min(at + 1000, tar.length))));
    }
    byte[] bytes = packed.toByteArray();
    var layer = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(bytes), bytes.length);
    assertThat(extract(new MemoryImage().layer(layer, bytes, tar)).file()).hasBinaryContent(random);
  }

  @Test
  void layersThatAreHiddenAreNotRead() throws IOException {
    byte[] opaque =
        MemoryImage.tar(
            writer -> {
              writer.file("disk/.wh..wh..opq", 0644, 0, new ByteArrayInputStream(new byte[0]));
              writer.file("disk/x", 0644, DISK.length, new ByteArrayInputStream(DISK));
            });
    var image =
        new MemoryImage()
            .gzipLayer(MemoryImage.tarWith("disk/old", new byte[10]))
            .gzipLayer(opaque)
            .gzipLayer(MemoryImage.tarWith("etc/motd", new byte[10]));
    image.forget(0);
    assertThat(extract(image).file()).hasBinaryContent(DISK);
    assertThat(image.opened).hasSize(3); // config, two layers
  }

  @Test
  void allLayersCountForTheNumberOfFiles() throws IOException {
    var image =
        new MemoryImage()
            .gzipLayer(MemoryImage.tarWith("disk/old", new byte[10]))
            .gzipLayer(MemoryImage.tarWith("disk/x", DISK));
    assertRefused(image, "2 files in /disk, expected one: [old, x]");
  }

  @Test
  void theLastEntryOfANameInALayerCounts() throws IOException {
    byte[] first = new byte[300_000];
    Arrays.fill(first, (byte) 1);
    byte[] last = new byte[200_000]; // holes, which must not show what was there before
    byte[] tar =
        MemoryImage.tar(
            writer -> {
              writer.file("disk/x", 0644, first.length, new ByteArrayInputStream(first));
              writer.file("disk/x", 0644, last.length, new ByteArrayInputStream(last));
            });
    assertThat(extract(new MemoryImage().plainLayer(tar)).file()).hasBinaryContent(last);
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk/.wh.x", ".wh.disk", "disk/.wh..wh..opq", ".wh..wh..opq"})
  void aWhiteoutHidesWhatLiesBelow(String whiteout) throws IOException {
    var image =
        new MemoryImage()
            .gzipLayer(MemoryImage.tarWith("disk/x", DISK))
            .gzipLayer(MemoryImage.tarWith(whiteout, new byte[0]));
    assertRefused(image, "no file in /disk");
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk/.wh.x", ".wh.disk", "disk/.wh..wh..opq", ".wh..wh..opq"})
  void aWhiteoutDoesNotHideItsOwnLayer(String whiteout) throws IOException {
    byte[] tar =
        MemoryImage.tar(
            writer -> {
              writer.file("disk/x", 0644, DISK.length, new ByteArrayInputStream(DISK));
              writer.file(whiteout, 0644, 0, new ByteArrayInputStream(new byte[0]));
            });
    assertThat(extract(new MemoryImage().gzipLayer(tar)).file()).hasBinaryContent(DISK);
  }

  @Test
  void aWhiteoutOfAnotherFileHidesNothing() throws IOException {
    var image =
        new MemoryImage()
            .gzipLayer(MemoryImage.tarWith("disk/x", DISK))
            .gzipLayer(MemoryImage.tarWith("disk/.wh.y", new byte[0]));
    assertThat(extract(image).file()).hasBinaryContent(DISK);
  }

  @Test
  void severalFilesAreListed() throws IOException {
    byte[] tar =
        MemoryImage.tar(
            writer -> {
              writer.file("disk/a\u001b[31m", 0644, 1, new ByteArrayInputStream(new byte[1]));
              writer.file("disk/b", 0644, 1, new ByteArrayInputStream(new byte[1]));
            });
    assertRefused(new MemoryImage().gzipLayer(tar), "2 files in /disk, expected one: [a?[31m, b]");
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk/sub/x", "disks/x", "disk.img", "a/disk/x"})
  void otherNamesAreNotTheDisk(String name) throws IOException {
    assertRefused(new MemoryImage().gzipLayer(MemoryImage.tarWith(name, DISK)), "no file in /disk");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/disk/x", "./disk/x", "//disk//x"})
  void aNameCountsFromTheRootOfTheImage(String name) throws IOException {
    assertThat(extract(new MemoryImage().gzipLayer(MemoryImage.tarWith(name, DISK))).file())
        .hasBinaryContent(DISK);
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk/../disk/x", "../disk/x", "disk/..", "/../x"})
  void aNameThatGoesUpIsRefused(String name) throws IOException {
    assertRefused(new MemoryImage().gzipLayer(MemoryImage.tarWith(name, DISK)), "has .. in it");
  }

  @ParameterizedTest
  @CsvSource({
    "2, a symbolic link to /etc/shadow",
    "1, 'a hard link to /etc/shadow, which is not there'",
    "6, a device"
  })
  void theDiskMustBeARegularFile(char type, String why) throws IOException {
    assertRefused(new MemoryImage().gzipLayer(link("disk/x", type)), "/disk/x is " + why);
    assertRefused(new MemoryImage().gzipLayer(link("disk", type)), "not a directory but " + why);
  }

  private static byte[] link(String name, char type) throws IOException {
    byte[] tar = MemoryImage.tarWith(name, new byte[0]);
    byte[] target = "/etc/shadow".getBytes(StandardCharsets.UTF_8);
    System.arraycopy(target, 0, tar, 157, target.length);
    int sum = Integer.parseInt(new String(tar, 148, 6, StandardCharsets.US_ASCII), 8);
    for (byte b : target) {
      sum += b;
    }
    sum += type - tar[156];
    tar[156] = (byte) type;
    System.arraycopy(
        String.format("%06o", sum).getBytes(StandardCharsets.US_ASCII), 0, tar, 148, 6);
    return tar;
  }

  @Test
  void aLayerThatUnpacksToOtherBytesThanTheConfigSaysIsRefused() throws IOException {
    byte[] packed = MemoryImage.gzip(MemoryImage.tarWith("disk/x", DISK));
    var layer = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(packed), packed.length);
    assertRefused(new MemoryImage().layer(layer, packed, new byte[0]), "the config says");
  }

  @Test
  void aLayerWithAnotherDigestIsRefused() throws IOException {
    byte[] tar = MemoryImage.tarWith("disk/x", DISK);
    byte[] packed = MemoryImage.gzip(tar);
    var wrong = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(tar), packed.length);
    assertRefused(new MemoryImage().layer(wrong, packed, tar), "got bytes with digest");
    var shorter = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(packed), packed.length - 1);
    assertRefused(new MemoryImage().layer(shorter, packed, tar), "goes on after its");
    var longer = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(packed), packed.length + 1);
    assertRefused(new MemoryImage().layer(longer, packed, tar), "ends after");
  }

  @Test
  void whatFollowsTheArchiveCountsForTheDigest() throws IOException {
    byte[] tar = MemoryImage.tarWith("disk/x", DISK);
    byte[] padded = Arrays.copyOf(tar, tar.length + 200_000);
    var image = new MemoryImage().gzipLayer(padded);
    assertThat(extract(image).file()).hasBinaryContent(DISK);
  }

  @ParameterizedTest
  @ValueSource(strings = {"+gzip", "+zstd"})
  void garbageInPlaceOfACompressedLayerIsRefused(String suffix) throws IOException {
    byte[] garbage = "this was never compressed".getBytes(StandardCharsets.UTF_8);
    var layer = new Descriptor(MediaTypes.OCI_LAYER + suffix, Digest.of(garbage), garbage.length);
    assertRefused(
        new MemoryImage().layer(layer, garbage, garbage),
        suffix.equals("+gzip") ? "no gzip member starts here" : "is corrupt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"+gzip", "+zstd"})
  void aCompressedLayerThatIsCutOffIsRefused(String suffix) throws IOException {
    byte[] random = new byte[200_000];
    new Random(2).nextBytes(random);
    byte[] tar = MemoryImage.tarWith("disk/x", random);
    byte[] packed = suffix.equals("+gzip") ? MemoryImage.gzip(tar) : Zstd.compress(tar);
    byte[] half = Arrays.copyOf(packed, packed.length / 2);
    var layer = new Descriptor(MediaTypes.OCI_LAYER + suffix, Digest.of(half), half.length);
    assertRefused(
        new MemoryImage().layer(layer, half, tar),
        suffix.equals("+gzip") ? "the stream ends too early" : "is corrupt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk/x", "elsewhere"})
  void aBombIsStoppedAtTheLimit(String name) throws IOException {
    byte[] tar = MemoryImage.tarWith(name, new byte[2 << 20]);
    assertRefused(new MemoryImage().gzipLayer(tar), "more than the limit of 1048576");
    byte[] zstd = Zstd.compress(tar);
    var layer = new Descriptor(MediaTypes.OCI_LAYER + "+zstd", Digest.of(zstd), zstd.length);
    assertRefused(new MemoryImage().layer(layer, zstd, tar), "more than the limit of 1048576");
  }

  @Test
  void aTypeThatCannotHoldADiskIsRefused() throws IOException {
    var layer = new Descriptor("application/x-tex", Digest.of(DISK), DISK.length);
    assertRefused(new MemoryImage().layer(layer, DISK, DISK), "cannot hold a disk");
  }

  @Test
  void aConfigWithAnotherNumberOfLayersIsRefused() throws IOException {
    var image = new MemoryImage().gzipLayer(MemoryImage.tarWith("disk/x", DISK));
    Manifest manifest = image.manifest(MediaTypes.DOCKER_CONFIG, "{\"rootfs\":{\"diff_ids\":[]}}");
    assertRefused(image, manifest, "1 layers but its config names 0");
  }

  @ParameterizedTest
  @CsvSource({
    "application/octet-stream, '', disk",
    "application/vnd.example.qcow2.v1, '', disk",
    "application/vnd.oci.image.layer.v1.tar, win.qcow2, win.qcow2",
    "application/x-disk, a.raw, a.raw",
    "application/octet-stream, ../../a.img, disk",
  })
  void aBareArtifactIsItsOwnDisk(String type, String title, String name) throws IOException {
    var layer =
        new Descriptor(type, Digest.of(DISK), DISK.length, Map.of(Descriptor.TITLE, title), null);
    var image = new MemoryImage().layer(layer, DISK, DISK);
    Manifest manifest = image.manifest("application/vnd.oci.empty.v1+json", "{}");
    ExtractedDisk disk = DiskImage.extract(image, manifest, spool, Progress.NONE);
    assertThat(disk.file()).hasBinaryContent(DISK);
    assertThat(disk.name()).isEqualTo(name);
  }

  @Test
  void progressCountsUpToTheSizeOfTheLayer() throws IOException {
    byte[] random = new byte[500_000];
    new Random(3).nextBytes(random);
    var image = new MemoryImage().gzipLayer(MemoryImage.tarWith("disk/x", random));
    List<Long> seen = new ArrayList<>();
    DiskImage.extract(image, image.manifest(), spool, (layer, bytes) -> seen.add(bytes));
    assertThat(seen).isSorted().hasSizeGreaterThan(1);
    assertThat(seen.getLast()).isEqualTo(image.manifest().layers().getFirst().size());
  }
}
