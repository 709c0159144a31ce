package dev.platter.block.base;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.BootTrace;
import dev.platter.image.seekable.LayerAnnotations;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
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
      BootTrace trace = base.trace();
      assertThat(trace.blocks()).containsExactly(19, 20, 3);
      TestLayer.read(base, 40 * Base.BLOCK, 512);
      assertThat(base.trace()).isNull();

      TestLayer ordered =
          TestLayer.of(disk, Arrays.stream(trace.blocks()).asLongStream().toArray());
      assertThat(LayerAnnotations.bootPrefix(ordered.descriptor())).isPresent();
    }
  }

  @Test
  void whatATraceTellsIsFetchedAheadInFewRequests() throws IOException {
    byte[] disk = new byte[8 << 20];
    new Random(7).nextBytes(disk);
    TestLayer layer = TestLayer.of(disk);
    try (Base base = Base.open(directory, layer.open(directory))) {
      int[] order = IntStream.range(0, 40).map(i -> 90 - i).toArray();
      TestLayer.read(base, 0, 1); // tables, and the first block
      layer.requests.clear();
      base.prefetch(BootTrace.of(disk.length + 1, order));
      assertThat(layer.requests).isEmpty();
      base.prefetch(BootTrace.of(disk.length, order));
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
    assertThat(endless.touch(0, Recorder.MOST + 5)).isFalse();
    assertThat(endless.order()).hasSize(Recorder.MOST);
  }
}
