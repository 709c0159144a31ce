package dev.platter.block.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is remembered is true, whatever happens to the memory. */
class MapsTest {
  private static final Digest LAYER = Digest.of(new byte[] {1});

  @TempDir Path directory;

  private Path map() {
    return directory.resolve("base.map");
  }

  private static long size(int blocks) {
    return (long) blocks * Base.BLOCK;
  }

  @Test
  void bitsReachTheFileOnlyAfterTheirBytesWereForced() throws IOException {
    try (BlockMap map = BlockMap.create(map(), 5000, size(5000), LAYER)) {
      map.set(4711, BlockState.FETCHED);
      List<Boolean> before = new ArrayList<>();
      map.checkpoint(() -> before.add(persisted(5000, 4711)));
      assertThat(before).containsExactly(false);
      assertThat(persisted(5000, 4711)).isTrue();
    }
  }

  /** A block whose bytes are written while others are forced has to wait for the next time. */
  @Test
  void aBlockThatIsSetWhileOthersAreForcedIsNotWrittenWithThem() throws IOException {
    try (BlockMap map = BlockMap.create(map(), 100, size(100), LAYER)) {
      map.set(1, BlockState.FETCHED);
      map.checkpoint(() -> map.set(2, BlockState.FETCHED));
      assertThat(persisted(100, 1)).isTrue();
      assertThat(persisted(100, 2)).isFalse();
      map.checkpoint(() -> {});
      assertThat(persisted(100, 2)).isTrue();
    }
  }

  @Test
  void bitsWhoseBytesCouldNotBeForcedAreTriedAgain() throws IOException {
    try (BlockMap map = BlockMap.create(map(), 100, size(100), LAYER)) {
      map.set(1, BlockState.COPIED);
      assertThatThrownBy(
              () ->
                  map.checkpoint(
                      () -> {
                        throw new IOException("no space");
                      }))
          .hasMessage("no space");
      assertThat(persisted(100, 1)).isFalse();
      map.checkpoint(() -> {});
      assertThat(persisted(100, 1)).isTrue();
    }
  }

  private boolean persisted(int blocks, int block) throws IOException {
    try (BlockMap map = BlockMap.open(map(), blocks, size(blocks), LAYER)) {
      return map.has(block);
    }
  }

  @Test
  void aMapOfSomethingElseIsNone() throws IOException {
    BlockMap.create(map(), 100, size(100), LAYER).close();
    assertThat(BlockMap.open(map(), 100, size(100) - 5, LAYER)).isNull();
    assertThat(BlockMap.open(map(), 101, size(101), LAYER)).isNull();
    assertThat(BlockMap.open(map(), 100, size(100), Digest.of(new byte[2]))).isNull();
    Files.write(map(), Arrays.copyOf(Files.readAllBytes(map()), 4100));
    assertThat(BlockMap.open(map(), 100, size(100), LAYER)).isNull();
  }

  @Test
  void countsAndGapsAreThoseOfASimpleMap() {
    var random = new Random(5);
    for (int blocks : new int[] {1, 31, 32, 33, 1000}) {
      BlockMap map = BlockMap.inMemory(blocks);
      BlockState[] model = new BlockState[blocks];
      Arrays.fill(model, BlockState.MISSING);
      for (int i = 0; i < blocks; i++) {
        int block = random.nextInt(blocks);
        BlockState state = BlockState.of(1 + random.nextInt(3));
        map.set(block, state);
        model[block] = model[block] == BlockState.MISSING ? state : model[block];
      }
      for (int n = 0; n < 50; n++) {
        int first = random.nextInt(blocks);
        int end = first + random.nextInt(blocks - first + 1);
        BlockCounts counts = map.count(first, end);
        List<BlockState> part = Arrays.asList(model).subList(first, end);
        assertThat(counts)
            .isEqualTo(
                new BlockCounts(
                    part.stream().filter(s -> s == BlockState.MISSING).count(),
                    part.stream().filter(s -> s == BlockState.FETCHED).count(),
                    part.stream().filter(s -> s == BlockState.ZERO).count(),
                    part.stream().filter(s -> s == BlockState.COPIED).count()));
        int gap = Arrays.asList(model).subList(first, blocks).indexOf(BlockState.MISSING);
        assertThat(map.nextMissing(first)).isEqualTo(gap < 0 ? blocks : first + gap);
      }
    }
  }

  @Test
  void rangesAreASet() {
    var random = new Random(6);
    var ranges = new Ranges();
    var model = new BitSet();
    for (int i = 0; i < 3000; i++) {
      int from = random.nextInt(200);
      var range = new Range(from, from + 1 + random.nextInt(30));
      if (random.nextInt(3) < 2) {
        ranges.add(range);
        model.set(from, (int) range.to());
      } else {
        ranges.remove(range);
        model.clear(from, (int) range.to());
      }
      var found = new BitSet();
      ranges.list().forEach(r -> found.set((int) r.from(), (int) r.to()));
      assertThat(found).isEqualTo(model);
      var asked = new Range(random.nextInt(100), 101 + random.nextInt(150));
      var missing = new BitSet();
      ranges.missing(asked).forEach(r -> missing.set((int) r.from(), (int) r.to()));
      var expected = new BitSet();
      expected.set((int) asked.from(), (int) asked.to());
      expected.andNot(model);
      assertThat(missing).isEqualTo(expected);
      assertThat(ranges.contains(asked)).isEqualTo(expected.isEmpty());
    }
  }

  private Spool spool(Digest digest) throws IOException {
    return Spool.open(new BaseFiles(directory), new Descriptor("x", digest, 1000));
  }

  @Test
  void aLogThatWasCutOrDamagedAnywhereForgetsAndDoesNotInvent() throws IOException {
    try (Spool spool = spool(LAYER)) {
      spool.keep(100, new byte[50], 50);
      spool.checkpoint();
      spool.keep(300, new byte[50], 50);
    }
    Path log = directory.resolve("layer.map");
    byte[] good = Files.readAllBytes(log);
    try (Spool spool = spool(LAYER)) {
      assertThat(spool.has(new Range(100, 150))).isTrue();
      assertThat(spool.has(new Range(300, 350))).isTrue();
    }
    var truth = List.of(new Range(0, 100), new Range(150, 300), new Range(350, 1000));
    for (int i = 0; i < good.length; i++) {
      for (byte[] bad : List.of(Arrays.copyOf(good, i), flipped(good, i))) {
        Files.write(log, bad);
        try (Spool spool = spool(LAYER)) {
          assertThat(truth.stream().flatMap(range -> spool.missing(range).stream()))
              .containsExactlyElementsOf(truth);
          spool.keep(500, new byte[10], 10);
        }
        try (Spool spool = spool(LAYER)) {
          assertThat(spool.has(new Range(500, 510))).isTrue();
        }
      }
    }
    Files.write(log, good);
    try (Spool spool = spool(Digest.of(new byte[9]))) {
      assertThat(spool.missing(new Range(0, 1000))).containsExactly(new Range(0, 1000));
    }
  }

  private static byte[] flipped(byte[] bytes, int at) {
    byte[] bad = bytes.clone();
    bad[at] ^= 4;
    return bad;
  }

  @Test
  void whatIsThereIsNotOverwritten() throws IOException {
    try (Spool spool = spool(LAYER)) {
      spool.keep(10, new byte[] {1, 2, 3}, 3);
      spool.keep(8, new byte[] {9, 9, 9, 9, 9, 9, 9}, 7);
      assertThat(spool.read(new Range(8, 15))).containsExactly(9, 9, 1, 2, 3, 9, 9);
      spool.forget(new Range(11, 12));
      assertThat(spool.missing(new Range(8, 15))).containsExactly(new Range(11, 12));
      spool.keep(11, new byte[] {7}, 1);
      assertThat(spool.read(new Range(10, 13))).containsExactly(1, 7, 3);
    }
  }
}
