package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** 200 images of random options and random history, the same in each run. */
class RandomImagesTest {
  @TempDir Path dir;

  static List<Integer> randomStates() {
    return new Random(20_260_101).ints(200).boxed().toList();
  }

  @ParameterizedTest
  @MethodSource("randomStates")
  void randomImageReadsAsQemuReadsIt(int randomState) throws IOException {
    Random random = new Random(randomState);
    Path image = dir.resolve("disk.qcow2");
    int sectors = 1 + random.nextInt(6 << 11);
    int clusterBits = 9 + random.nextInt(13);
    boolean old = random.nextInt(4) == 0;
    int refcountBits = old ? 16 : 1 << random.nextInt(7);
    boolean preallocated = random.nextInt(8) == 0;
    String options = "cluster_size=" + (1 << clusterBits) + ",compat=" + (old ? "0.10" : "1.1");
    if (!old) {
      options += ",compression_type=" + (random.nextBoolean() ? "zlib" : "zstd");
      options += ",lazy_refcounts=" + (random.nextBoolean() ? "on" : "off");
      options += ",refcount_bits=" + refcountBits;
      options += ",extended_l2=" + (clusterBits >= 14 && random.nextBoolean() ? "on" : "off");
    }
    options += ",preallocation=" + (preallocated ? "metadata" : "off");
    Qemu.img("create", "-q", "-f", "qcow2", "-o", options, image, sectors * 512L);

    History history = new History(random, sectors, clusterBits, preallocated);
    Qemu.io(image, "qcow2", history.commands());
    if (refcountBits >= 16 && random.nextInt(3) == 0) {
      Qemu.img("snapshot", "-c", "one", image);
    }
    Qemu.io(image, "qcow2", history.commands());
    assertThat(Qemu.imgStatus("check", image)).isZero();
    SameAsQemu.check(image);
    Files.delete(image);
  }

  /** What happens to one disk. Knows what was touched: QEMU packs only clusters it never wrote. */
  private static final class History {
    private final Random random;
    private final int sectors;
    private final int clusterBits;
    private final BitSet touched = new BitSet();

    History(Random random, int sectors, int clusterBits, boolean preallocated) {
      this.random = random;
      this.sectors = sectors;
      this.clusterBits = clusterBits;
      if (preallocated) {
        touch(0, sectors * 512L);
      }
    }

    /**
     * For one run of qemu-io. Packed clusters come first: after a discard QEMU 7.2 may pack on into
     * a cluster that was freed and has become a table, and then marks the image corrupt.
     */
    String[] commands() {
      List<String> commands = new ArrayList<>();
      for (int i = random.nextInt(8); i > 0; i--) {
        commands.add(compressed());
      }
      for (int i = random.nextInt(16); i >= 0; i--) {
        commands.add(plain());
      }
      return commands.toArray(String[]::new);
    }

    private String plain() {
      long from = random.nextInt(sectors);
      long count = 1 + random.nextInt((int) Math.min(sectors - from, 1 + random.nextInt(1500)));
      touch(from * 512, (from + count) * 512);
      String range = from * 512 + " " + count * 512;
      return switch (random.nextInt(5)) {
        case 0 -> "write -z " + range;
        case 1 -> "write -zu " + range;
        case 2 -> "discard " + range;
        default -> "write -P " + random.nextInt(256) + " " + range;
      };
    }

    private String compressed() {
      long size = sectors * 512L;
      int clusters = Math.toIntExact(Math.ceilDiv(size, 1L << clusterBits));
      int first = touched.nextClearBit(random.nextInt(clusters));
      int last = first;
      for (int most = 1 + random.nextInt(20); last < clusters && last < first + most; last++) {
        if (touched.get(last)) {
          break;
        }
      }
      if (first >= clusters) {
        return plain();
      }
      long from = (long) first << clusterBits;
      long to = Math.min(size, (long) last << clusterBits);
      touch(from, to);
      return "write -c -P " + random.nextInt(256) + " " + from + " " + (to - from);
    }

    private void touch(long from, long to) {
      touched.set((int) (from >> clusterBits), (int) ((to - 1) >> clusterBits) + 1);
    }
  }
}
