package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static dev.platter.lab.Shell.shell;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.platter.image.Digest;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The second build of an image takes from the first what is the same. */
class KnownBasesTest {
  private static final int SIZE = 16 << 20;
  private static byte[] oldDisk;
  private static byte[] newDisk;
  private static TestLayer oldMade;
  private static TestLayer newMade;

  @TempDir Path work;
  private TestLayer oldLayer;
  private TestLayer newLayer;

  @BeforeAll
  static void makeTwoBuilds() throws IOException {
    oldDisk = new byte[SIZE];
    var random = new Random(4);
    random.nextBytes(oldDisk);
    newDisk = oldDisk.clone();
    for (int at = 8 << 20; at < 9 << 20; at++) {
      newDisk[at] ^= 1;
    }
    oldMade = TestLayer.of(oldDisk);
    newMade = TestLayer.of(newDisk);
  }

  @BeforeEach
  void takeThem() {
    oldLayer = oldMade.again();
    newLayer = newMade.again();
  }

  private static Path seal(Path directory, TestLayer layer, KnownChunks known) throws IOException {
    Files.createDirectory(directory);
    try (Base base = Base.open(directory, layer.open(directory, known))) {
      assertThat(new Hydrator(base).run()).isTrue();
    }
    return directory;
  }

  @Test
  void onlyWhatIsNewIsFetched() throws IOException {
    try (var known = new KnownBases()) {
      known.add(seal(work.resolve("old"), oldLayer, known));
      Path place = Files.createDirectory(work.resolve("new"));
      try (Base base = Base.open(place, newLayer.open(place, known))) {
        assertThat(TestLayer.read(base, 0, 1 << 20)).isEqualTo(Arrays.copyOf(newDisk, 1 << 20));
        assertThat(base.status().bytesDeduplicated()).isPositive();
        assertThat(base.blockMap(16).getFirst().copied()).isPositive();
        assertThat(new Hydrator(base).run()).isTrue();
        assertThat(base.status().bytesDeduplicated()).isGreaterThan(SIZE * 3L / 4);
        assertThat(base.status().bytesFetched()).isLessThan(SIZE / 6);
      }
      TestLayer.assertSealed(place, newDisk);
      assertThat(newLayer.bytes.get()).isLessThan(SIZE / 6);
    }
  }

  @Test
  void aBaseThatIsStillOpenGivesWhatItHas() throws IOException {
    Path first = Files.createDirectory(work.resolve("old"));
    Path second = Files.createDirectory(work.resolve("new"));
    try (var known = new KnownBases();
        Base old = Base.open(first, oldLayer.open(first, known));
        Base base = Base.open(second, newLayer.open(second, known))) {
      known.add(old);
      known.add(base);
      old.fetch(0, 4 << 20);
      base.fetch(0, 8 << 20);
      assertThat(base.status().bytesDeduplicated()).isBetween(3L << 20, 4L << 20);
      assertThat(TestLayer.read(base, 0, SIZE)).isEqualTo(newDisk);
      known.remove(first);
      known.remove(second);
    }
  }

  @Test
  void aBaseThatWentBadIsNotBelieved() throws IOException {
    try (var known = new KnownBases()) {
      Path old = seal(work.resolve("old"), oldLayer, known);
      try (var file = new RandomAccessFile(old.resolve("base.raw").toFile(), "rw")) {
        for (int at = 100; at < SIZE; at += 1 << 20) {
          file.seek(at);
          file.write(0x55);
        }
      }
      known.add(old);
      seal(work.resolve("new"), newLayer, known);
      TestLayer.assertSealed(work.resolve("new"), newDisk);
    }
  }

  @Test
  void aDamagedIndexLeadsToTheRegistry() throws IOException {
    try (var known = new KnownBases()) {
      Path old = seal(work.resolve("old"), oldLayer, known);
      Path index = old.resolve("chunks.index");
      byte[] bytes = Files.readAllBytes(index);
      var random = new Random(1);
      for (int round = 0; round < 20; round++) {
        byte[] bad = bytes.clone();
        for (int i = 16; i < bad.length; i += 1 + random.nextInt(60)) {
          bad[i] = (byte) random.nextInt();
        }
        Files.write(index, bad);
        known.add(old);
        for (var chunk : newLayer.table().chunks()) {
          var found = known.find(chunk);
          assertThat(found == null || Digest.of(found.bytes()).equals(chunk.digest())).isTrue();
        }
      }
    }
  }

  @Test
  void aRemovedBaseIsNotTouchedAnyMore() throws IOException {
    try (var known = new KnownBases()) {
      Path old = seal(work.resolve("old"), oldLayer, known);
      known.add(old);
      var chunk = oldLayer.table().chunks().getLast();
      var found = known.find(chunk);
      assertThat(found).isNotNull();
      known.remove(old);
      assertThat(known.find(chunk)).isNull();
      assertThat(known.has(chunk.digest())).isFalse();
    }
  }

  @Test
  void onXfsTheBlocksAreShared() throws IOException {
    Path image = work.resolve("xfs.img");
    run("truncate", "-s", "400M", image);
    Path mount = Files.createDirectory(work.resolve("xfs"));
    for (Object[] command :
        new Object[][] {
          {"mkfs.xfs", "-q", "-m", "reflink=1", image}, {"mount", "-o", "loop", image, mount}
        }) {
      Shell.Result result = shell().execute(command);
      if (result.status() != 0) {
        abort("no XFS to test on: " + result.output());
      }
    }
    try (var known = new KnownBases()) {
      known.add(seal(mount.resolve("old"), oldLayer, known));
      Path sealed = seal(mount.resolve("new"), newLayer, known);
      TestLayer.assertSealed(sealed, newDisk);
      String extents = run("filefrag", "-v", sealed.resolve("base.raw"));
      assertThat(extents).contains("shared");
      long shared =
          extents
              .lines()
              .filter(line -> line.contains("shared"))
              .mapToLong(line -> Long.parseLong(line.split(":")[3].trim()))
              .sum();
      assertThat(shared * 4096).isGreaterThan(SIZE * 3L / 4);
    } finally {
      run("umount", mount);
    }
  }
}
