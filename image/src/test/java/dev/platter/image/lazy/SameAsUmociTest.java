package dev.platter.image.lazy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.oci.ExtractedDisk;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.Progress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Of layers with whatever in them, the disk is what {@code umoci unpack} leaves in {@code /disk}.
 */
class SameAsUmociTest {
  /** One image a block; "-" starts a layer. Each is a case that somebody could get wrong. */
  private static final String CASES =
      """
      - F disk/x one
      - F disk/x two

      - F disk/x one
      - F disk/.wh.x

      - F disk/x one
      - F disk/.wh.x; F disk/y two

      - F disk/x one
      - F disk/y two; F disk/.wh..wh..opq

      - F disk/x one
      - F disk/y two

      - F disk/x one
      - F .wh.disk; F disk/y two

      - F disk/x one
      - F disk/y two; F .wh.disk

      - F disk/x one; F disk/.wh.x

      - F disk/x one
      - F .wh..wh..opq; F disk/y two

      - F disk/x one
      - F disk two

      - F disk one
      - F .wh.disk; D disk; F disk/x two

      - F disk one
      - D disk; F disk/x two

      - F disk/x one
      - D disk/x; F disk/x/y two; F disk/z three

      - D disk/x; F disk/x/y one
      - F disk/x two

      - F data/a one; H disk/x data/a

      - F data/a one; H disk/x /data/a; F data/a two

      - F data/a one
      - H disk/x data/a

      - F data/a one
      - F data/.wh.a; H disk/x data/a

      - F data/a one
      - H disk/x data/a
      - F data/.wh.a

      - F disk/x one
      - H disk/y disk/x; F disk/.wh.x

      - F disk/x one
      - F data/.wh..wh..opq; F disk/.wh..wh..opq; H disk/y disk/x

      - F data/a one
      - F disk/.wh..wh..opq; H disk/y data/a

      - H disk/x data/a; F data/a one

      - F disk/x one; S disk/y x

      - S disk/x ../data/a; F data/a one

      - S disk data; F data/a one

      - S disk data
      - F disk/x one

      - S foo disk
      - F foo/x one

      - F disk/x one
      - S disk/x nowhere
      - F disk/x two

      - F disk/x one
      - F data/.wh.x; F disk/.wh.; F .wh.data

      - F /disk/x one
      - F ./disk//x two

      - F disk/x one; F disk/x two; F disk/x three

      - F disk/.wh.x; F disk/x one
      - D disk

      - F disk/sub/x one
      - F disk/y two; F disk/.wh.sub
      """;

  @TempDir Path work;

  @Test
  void casesThatPeopleGetWrong() throws IOException {
    List<List<String>> images = new ArrayList<>();
    for (String block : CASES.split("\n\n")) {
      List<String> lines = new ArrayList<>();
      for (String layer : block.strip().split("\n")) {
        lines.add("layer gzip");
        for (String entry : layer.substring(2).split("; ")) {
          lines.add(entry);
        }
      }
      images.add(lines);
    }
    assertThat(compare(images)).isBetween(12, images.size());
  }

  @Test
  void randomImages() throws IOException {
    Random random = new Random(11);
    List<List<String>> images = new ArrayList<>();
    for (int i = 0; i < 250; i++) {
      images.add(randomImage(random));
    }
    assertThat(compare(images)).isGreaterThan(30);
  }

  private static List<String> randomImage(Random random) {
    String[] places = {
      "disk", "disk/a", "disk/a", "disk/b", "disk/s", "disk/s/a", "data", "data/a"
    };
    List<String> made = new ArrayList<>(List.of("data/a"));
    List<String> lines = new ArrayList<>();
    for (int layer = 1 + random.nextInt(4); layer > 0; layer--) {
      lines.add("layer " + (random.nextBoolean() ? "gzip" : "plain"));
      for (int entry = 1 + random.nextInt(4); entry > 0; entry--) {
        String path = places[random.nextInt(places.length)];
        String other = made.get(random.nextInt(made.size()));
        int slash = path.lastIndexOf('/') + 1;
        if (random.nextInt(3) > 0) {
          made.add(path); // mostly: umoci stops at links to what is not there
          lines.add("F " + path + " text" + random.nextInt(1000));
          continue;
        }
        lines.add(
            switch (random.nextInt(8)) {
              case 0 -> "D " + path;
              case 1, 2 -> "F " + path.substring(0, slash) + ".wh." + path.substring(slash);
              case 3 -> "F " + path.substring(0, slash) + ".wh..wh..opq";
              case 4, 5 -> "H " + path + " " + other;
              case 6 -> random.nextInt(4) == 0 ? "S " + path + " /" + other : "D " + path;
              default -> "F " + path.substring(0, slash) + ".wh.b";
            });
      }
    }
    return lines;
  }

  /** How many had a disk. */
  private int compare(List<List<String>> images) throws IOException {
    var spec = new StringBuilder();
    var unpack = new StringBuilder();
    for (int i = 0; i < images.size(); i++) {
      spec.append("image i").append(i).append('\n');
      spec.append(String.join("\n", images.get(i))).append('\n');
    }
    Files.writeString(work.resolve("spec"), spec);
    Path script = Path.of("src/test/resources/dev/platter/image/lazy/layers.py").toAbsolutePath();
    ForeignTool.sh(work, "python3 " + script + " layout < spec");
    for (int i = 0; i < images.size(); i += 50) {
      ForeignTool.sh(
          work,
          "for i in $(seq %d %d); do umoci unpack --image layout:i$i b$i 2>/dev/null || touch failed$i; done"
              .formatted(i, Math.min(i + 49, images.size() - 1)));
    }
    int disks = 0;
    for (int i = 0; i < images.size(); i++) {
      if (!Files.exists(work.resolve("failed" + i))) {
        disks += compare(i, String.join("\n", images.get(i))) ? 1 : 0;
      }
    }
    return disks;
  }

  private boolean compare(int number, String what) throws IOException {
    Path directory = work.resolve("b" + number + "/rootfs/disk");
    List<Path> files = List.of();
    if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
      try (Stream<Path> list = Files.list(directory)) {
        files = list.filter(f -> !Files.isDirectory(f, LinkOption.NOFOLLOW_LINKS)).toList();
      }
    }
    boolean isDisk =
        files.size() == 1 && Files.isRegularFile(files.getFirst(), LinkOption.NOFOLLOW_LINKS);
    var layout = new OciLayout(work.resolve("layout"));
    Manifest manifest = layout.resolve("i" + number).manifest();
    try {
      ExtractedDisk disk = DiskImage.extract(layout, manifest, work, Progress.NONE);
      assertThat(isDisk).as("%s\nshows %s, we found %s", what, files, disk.name()).isTrue();
      Path file = files.getFirst();
      assertThat(disk.name()).as(what).isEqualTo(file.getFileName().toString());
      assertThat(Files.readString(disk.file())).as(what).isEqualTo(Files.readString(file));
      assertThat(inChunks(layout, manifest)).as(what).isEqualTo(Files.readString(file));
      return true;
    } catch (BadImageException e) {
      boolean behindLink = String.valueOf(e.getMessage()).contains("behind");
      assertThat(isDisk && !behindLink).as("%s\nshows %s, we: %s", what, files, e).isFalse();
      if (files.size() > 1) {
        for (Path file : files) {
          assertThat(behindLink || e.getMessage().contains(file.getFileName().toString()))
              .as("%s: %s", what, e)
              .isTrue();
        }
      }
      return false;
    }
  }

  /** The first time streamed, then by the indexes alone. */
  private static String inChunks(OciLayout layout, Manifest manifest) throws IOException {
    Map<Digest, LayerIndex> indexes = new HashMap<>();
    LayerIndexes known = layer -> Optional.ofNullable(indexes.get(layer));
    DiskLocator.of(layout, manifest, known).stream(
        new DiskWaysTest.Taken(), index -> indexes.put(index.layer(), index), Progress.NONE);
    var ranges = new DiskWaysTest.Ranges(layout);
    var chunked = (DiskLocation.Chunked) DiskLocator.of(ranges, manifest, known).locate();
    assertThat(ranges.requests + ranges.wholes).isZero();
    assertThat(chunked.name()).startsWith("disk/");
    var file = new ByteArrayOutputStream();
    for (Chunk chunk : chunked.file().chunks()) {
      try (InputStream in = layout.open(chunked.layer(), chunk.blobOffset(), chunk.blobLength())) {
        file.writeBytes(chunked.file().decode(chunk, in.readAllBytes()));
      }
    }
    return file.toString(StandardCharsets.UTF_8);
  }
}
