package dev.platter.block.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.seekable.LayerAnnotations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceTest {
  @TempDir Path directory;

  @Test
  void blocksAreRecordedInTheOrderOfTheirFirstRead() throws IOException {
    byte[] disk = new byte[4 << 20];
    Arrays.fill(disk, (byte) 7);
    TestLayer layer = TestLayer.of(disk);
    try (Base base = Base.open(directory, layer.open(directory))) {
      TestLayer.read(base, 0, 512);
      base.record(Duration.ofMinutes(5));
      TestLayer.read(base, 20 * Base.BLOCK - 1, 2);
      TestLayer.read(base, 3 * Base.BLOCK, 512);
      TestLayer.read(base, 19 * Base.BLOCK, 512);
      base.fetch(0, base.size());
      Trace trace = base.trace();
      assertThat(trace.blocks()).containsExactly(19, 20, 3);
      TestLayer.read(base, 40 * Base.BLOCK, 512);
      assertThat(base.trace()).isNull();
      Path file = Files.write(directory.resolve("boot.trace"), trace.encode());
      assertThat(Trace.read(file)).isEqualTo(trace);

      TestLayer ordered = TestLayer.of(disk, trace.bootOrder());
      assertThat(LayerAnnotations.bootPrefix(ordered.descriptor())).isPresent();
    }
  }

  @Test
  void whatATraceTellsIsFetchedAheadInFewRequests() throws IOException {
    byte[] disk = new byte[8 << 20];
    new Random(7).nextBytes(disk);
    TestLayer layer = TestLayer.of(disk);
    try (Base base = Base.open(directory, layer.open(directory))) {
      List<Integer> order = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        order.add(90 - i);
      }
      TestLayer.read(base, 0, 1); // tables, and the first block
      layer.requests.clear();
      base.prefetch(new Trace(disk.length + 1, order));
      assertThat(layer.requests).isEmpty();
      base.prefetch(new Trace(disk.length, order));
      assertThat(layer.requests).hasSize(1);
      assertThat(base.ready(51L * Base.BLOCK, 40L * Base.BLOCK)).isTrue();
      assertThat(TestLayer.read(base, 51 * Base.BLOCK, 40 * Base.BLOCK))
          .isEqualTo(Arrays.copyOfRange(disk, 51 * Base.BLOCK, 91 * Base.BLOCK));
    }
  }

  @Test
  void recordingEndsByItself() throws IOException {
    var recorder = new Recorder(Duration.ZERO);
    assertThat(recorder.touch(1, 2)).isFalse();
    assertThat(recorder.order()).isEmpty();
    var endless = new Recorder(Duration.ofDays(1));
    assertThat(endless.touch(0, Trace.MOST + 5)).isFalse();
    assertThat(endless.order()).hasSize(Trace.MOST);
  }

  @Test
  void everyByteOfATraceCounts() throws IOException {
    byte[] good = new Trace(10 << 20, List.of(5, 1, 159)).encode();
    assertThat(Trace.decode(good).blocks()).containsExactly(5, 1, 159);
    for (int i = 0; i < good.length; i++) {
      byte[] bad = good.clone();
      bad[i] ^= 0x40;
      assertThatThrownBy(() -> Trace.decode(bad)).isInstanceOf(BadImageException.class);
      byte[] cut = Arrays.copyOf(good, i);
      assertThatThrownBy(() -> Trace.decode(cut)).isInstanceOf(BadImageException.class);
    }
  }

  @Test
  void tracesThatDoNotFitTheirDiskAreRefused() {
    for (List<Integer> blocks : List.of(List.of(160), List.of(-1), List.of(3, 3))) {
      byte[] bytes = new Trace(10 << 20, blocks).encode();
      assertThatThrownBy(() -> Trace.decode(bytes))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining("the boot trace is refused: block");
    }
  }
}
