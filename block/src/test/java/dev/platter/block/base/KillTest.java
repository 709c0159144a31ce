package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that is killed while guests read and the base hydrates leaves nothing wrong behind. */
class KillTest {
  private static final int SIZE = 24 << 20;
  private static final int ROUNDS = 6;

  @TempDir Path work;

  @Test
  void whoeverComesNextFinishesWhatWasKilled() throws Exception {
    byte[] disk = TestLayer.disk(SIZE, 12);
    TestLayer layer = TestLayer.of(disk);
    Path blob = work.resolve("blob");
    layer.save(blob);
    Files.write(work.resolve("disk"), disk);
    Path directory = Files.createDirectory(work.resolve("image"));
    var random = new Random(3);
    int present = 0;
    for (int round = 0; round < ROUNDS; round++) {
      Process child = start(blob, directory, "slow");
      // Counted from its first bytes, so that a slow machine kills in the middle too.
      child.getInputStream().read();
      boolean ended = child.waitFor(300 + random.nextInt(2500), TimeUnit.MILLISECONDS);
      child.destroyForcibly().waitFor();
      assertThat(ended).as("killed in the middle of round %d", round).isFalse();
      int now = assertOnlyTrueBlocks(directory, layer, disk);
      assertThat(now).isGreaterThanOrEqualTo(present);
      present = now;
    }
    assertThat(present).isPositive();
    Process last = start(blob, directory, "fast");
    String said = new String(last.getInputStream().readAllBytes());
    assertThat(last.waitFor()).as(said).isZero();

    run("tar", "-C", work, "-xzf", blob, "disk/vm.qcow2", "--transform=s/.*/vm.qcow2/");
    Path converted = work.resolve("converted.raw");
    run("qemu-img", "convert", "-O", "raw", work.resolve("vm.qcow2"), converted);
    run("cmp", converted, directory.resolve("base.raw"));
  }

  private Process start(Path blob, Path directory, String speed) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-Xmx256m",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            KilledProcess.class.getName(),
            blob.toString(),
            work.resolve("disk").toString(),
            directory.toString(),
            speed)
        .redirectErrorStream(true)
        .start();
  }

  /** The number of blocks that the map has, each of which is what it should be. */
  private static int assertOnlyTrueBlocks(Path directory, TestLayer layer, byte[] disk)
      throws IOException {
    int blocks = SIZE / Base.BLOCK;
    int present = 0;
    try (BlockMap map =
            BlockMap.open(
                directory.resolve("base.map"), blocks, SIZE, layer.descriptor().digest());
        var raw = new RandomAccessFile(directory.resolve("base.raw").toFile(), "r")) {
      assertThat(map).isNotNull();
      for (int block = 0; block < blocks; block++) {
        if (map.has(block)) {
          byte[] found = new byte[Base.BLOCK];
          raw.seek((long) block * Base.BLOCK);
          raw.readFully(found);
          assertThat(found)
              .as("block %d", block)
              .isEqualTo(Arrays.copyOfRange(disk, block * Base.BLOCK, (block + 1) * Base.BLOCK));
          present++;
        }
      }
    }
    return present;
  }
}
