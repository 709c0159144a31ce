package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A base is sealed when every link of the chain holds, and only then. */
class HydratorTest {
  private static final int SIZE = (12 << 20) + 512;

  private static byte[] disk;
  private static TestLayer made;

  @TempDir Path work;
  private Path directory;
  private TestLayer layer;

  @BeforeAll
  static void makeALayer() throws IOException {
    disk = TestLayer.disk(SIZE, 8);
    made = TestLayer.of(disk, 3, 2, 1);
  }

  @BeforeEach
  void makeADirectory() throws IOException {
    directory = Files.createDirectory(work.resolve("image"));
    layer = made.again();
  }

  @Test
  void theSealedBaseIsWhatQemuMakesOfTheImage() throws IOException {
    try (Base base = Base.open(directory, layer.open(directory))) {
      assertThat(new Hydrator(base).run()).isTrue();
      assertThat(base.status().blocks().missing()).isZero();
    }
    assertThat(layer.bytes.get()).isEqualTo(layer.blob.length);
    Files.write(work.resolve("layer.tar.gz"), layer.blob);
    run("tar", "-C", work, "-xzf", work.resolve("layer.tar.gz"), "disk/vm.qcow2");
    Path converted = work.resolve("converted.raw");
    run("qemu-img", "convert", "-O", "raw", work.resolve("disk/vm.qcow2"), converted);
    run("cmp", converted, directory.resolve("base.raw"));
    TestLayer.assertSealed(directory, disk);
    new BaseFiles(directory).removeWork();
    assertThat(directory).isDirectoryContaining(f -> f.endsWith("base.raw"));
    assertThat(directory.resolve("layer.part")).doesNotExist();
    assertThat(directory.resolve("base.map")).doesNotExist();
  }

  @Test
  void itGoesOnWhereItWasStopped() throws Exception {
    byte[] disk = new byte[8 << 20];
    new Random(2).nextBytes(disk);
    layer = TestLayer.of(disk);
    try (Base base = Base.open(directory, layer.open(directory));
        var threads = Executors.newSingleThreadExecutor()) {
      var slow = new Hydrator(base, new Rate(100_000));
      Future<Boolean> run = threads.submit(slow::run);
      while (layer.bytes.get() < 1 << 20) {
        Thread.onSpinWait();
      }
      slow.close();
      assertThat(run.get()).isFalse();
    }
    assertThat(layer.bytes.get()).isLessThan(layer.blob.length);
    try (Base base = Base.open(directory, layer.open(directory))) {
      assertThat(new Hydrator(base).run()).isTrue();
    }
    assertThat(layer.bytes.get()).isLessThan(layer.blob.length + (64 << 10));
    TestLayer.assertSealed(directory, disk);
  }

  /** At this rate the first pause is longer than anybody's patience. */
  @Test
  void whoIsInAHurryWaitsForNoRate() throws Exception {
    try (Base base = Base.open(directory, layer.open(directory));
        var threads = Executors.newSingleThreadExecutor()) {
      var slow = new Hydrator(base, new Rate(1));
      Future<Boolean> run = threads.submit(slow::run);
      while (layer.bytes.get() == 0) {
        Thread.onSpinWait();
      }
      slow.hurry();
      assertThat(run.get()).isTrue();
    }
    TestLayer.assertSealed(directory, disk);
  }

  @Test
  void closingTheBaseEndsIt() throws Exception {
    Base base = Base.open(directory, layer.open(directory));
    try (var threads = Executors.newSingleThreadExecutor()) {
      layer.outage = "down";
      int before = layer.requests.size();
      Future<Boolean> run = threads.submit(() -> new Hydrator(base).run());
      while (layer.requests.size() == before) {
        Thread.onSpinWait();
      }
      base.close();
      assertThat(run.get()).isFalse();
    }
  }

  private void assertRefused(LayerFile.Origin origin, String link) throws IOException {
    LayerFile file =
        LayerFile.open(directory, origin, new ChunkCache(1 << 20), KnownChunks.NONE, _ -> {});
    try (Base base = Base.open(directory, file)) {
      assertThatThrownBy(() -> new Hydrator(base).run())
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining(link);
    }
    assertThat(directory.resolve("chunks.index")).doesNotExist();
  }

  @Test
  void aWrongByteThatBelongsToNoChunkBreaksTheLayersDigest() throws IOException {
    layer.liesAt = layer.blob.length - 60;
    layer.lies = 1000;
    assertRefused(
        layer.origin(), "the layer's digest: the manifest says " + layer.written.digest());
    assertThat(layer.lies).as("it is fetched a second time").isEqualTo(998);
  }

  @Test
  void aWrongByteInOneTransferIsFetchedAgain() throws IOException {
    layer.liesAt = layer.blob.length - 60;
    layer.lies = 1;
    try (Base base = Base.open(directory, layer.open(directory))) {
      assertThat(new Hydrator(base).run()).isTrue();
    }
    TestLayer.assertSealed(directory, disk);
  }

  @Test
  void aWrongChunkIsRefusedByItsDigest() throws IOException {
    layer.liesAt = layer.table().chunks().getLast().blobOffset() + 40;
    layer.lies = 1000;
    assertRefused(
        layer.origin(), "the chunk at byte " + layer.table().chunks().getLast().fileOffset());
  }

  @Test
  void aConfigWithAnotherDiffIdIsRefused() throws IOException {
    var other =
        new LayerFile.Origin(
            layer, layer.descriptor(), () -> Digest.of(new byte[1]), layer.table());
    assertRefused(other, "the layer's diff_id");
  }

  /** Each chunk verifies, but everybody who unpacks the tar gets another disk. */
  @Test
  void aTableThatShowsAnotherDiskThanTheTarIsRefused() throws IOException {
    List<Chunk> chunks = new ArrayList<>(layer.table().chunks());
    Chunk one = chunks.get(chunks.size() - 3);
    Chunk two = chunks.get(chunks.size() - 2);
    chunks.set(chunks.size() - 3, moved(two, one));
    chunks.set(chunks.size() - 2, moved(one, two));
    var lie = new Table(layer.table(), "disk/vm.qcow2", chunks);
    assertRefused(
        new LayerFile.Origin(layer, layer.descriptor(), layer.written::diffId, lie),
        "the layer's tar: byte " + one.fileOffset() + " of its disk");
  }

  @Test
  void aTableThatNamesAnotherFileIsRefused() throws IOException {
    var lie = new Table(layer.table(), "disk/other.qcow2", layer.table().chunks());
    assertRefused(
        new LayerFile.Origin(layer, layer.descriptor(), layer.written::diffId, lie),
        "it has no disk where the table of chunks says");
  }

  private static Chunk moved(Chunk chunk, Chunk to) {
    return new Chunk(
        to.fileOffset(), chunk.plainSize(), chunk.blobOffset(), chunk.blobLength(), chunk.digest());
  }

  private record Table(ChunkedFile table, String name, List<Chunk> chunks) implements ChunkedFile {
    @Override
    public long size() {
      return table.size();
    }

    @Override
    public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
      return table.decode(chunk, blobBytes);
    }
  }

  @Test
  void tablesThatUseAClusterTwiceAreRefused() throws IOException {
    Path qcow2 = work.resolve("disk.qcow2");
    Files.write(work.resolve("disk.raw"), disk);
    run("qemu-img", "convert", "-O", "qcow2", work.resolve("disk.raw"), qcow2);
    byte[] bytes = Files.readAllBytes(qcow2);
    ByteBuffer file = ByteBuffer.wrap(bytes);
    int l2 = (int) (file.getLong((int) file.getLong(40)) & 0xfffffffffffe00L);
    List<Integer> used = new ArrayList<>();
    for (int i = 0; i < SIZE / Base.BLOCK; i++) {
      if (file.getLong(l2 + 8 * i) != 0) {
        used.add(l2 + 8 * i);
      }
    }
    file.putLong(used.getLast(), file.getLong(used.getFirst()));
    try (Base base = Base.open(directory, new PlainLayer(bytes).open(directory))) {
      assertThatThrownBy(() -> new Hydrator(base).run())
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining("the disk's tables");
    }
  }

  @Test
  void aStreamServesWhatHasPassedAndIsSealedAtItsEnd() throws Exception {
    Path qcow2 = work.resolve("disk.qcow2");
    Files.write(work.resolve("disk.raw"), disk);
    run("qemu-img", "convert", "-c", "-O", "qcow2", work.resolve("disk.raw"), qcow2);
    byte[] bytes = Files.readAllBytes(qcow2);
    StreamedFile stream = StreamedFile.create(directory);
    stream.begin("disk/vm.qcow2", bytes.length);
    int half = bytes.length / 2;
    stream.bytes(ByteBuffer.wrap(bytes, 0, half));
    try (Base base = Base.open(directory, stream);
        var threads = Executors.newFixedThreadPool(2)) {
      assertThat(TestLayer.read(base, 0, 100_000)).isEqualTo(Arrays.copyOf(disk, 100_000));
      Future<byte[]> all = threads.submit(() -> TestLayer.read(base, 0, SIZE));
      Future<Boolean> sealed = threads.submit(() -> new Hydrator(base).run());
      stream.bytes(ByteBuffer.wrap(bytes, half, bytes.length - half));
      assertThat(all.get()).isEqualTo(disk);
      assertThat(sealed).isNotDone();
      stream.end();
      assertThat(sealed.get()).isTrue();
    }
    assertThat(directory.resolve("base.map")).doesNotExist();
    TestLayer.assertSealed(directory, disk);
  }

  @Test
  void aStreamThatFailsFailsItsReadersAndLeavesNothingToGoOnWith() throws Exception {
    StreamedFile stream = StreamedFile.create(directory);
    stream.begin("disk/vm.raw", disk.length);
    stream.bytes(ByteBuffer.wrap(disk, 0, 2 << 20));
    try (Base base = Base.open(directory, stream);
        var threads = Executors.newFixedThreadPool(2)) {
      base.fetch(0, 1 << 20);
      Future<byte[]> read = threads.submit(() -> TestLayer.read(base, 3 << 20, 10));
      Future<Boolean> sealed = threads.submit(() -> new Hydrator(base).run());
      stream.fail(new BadImageException("the layer's digest is wrong"));
      assertThatThrownBy(read::get).hasMessageContaining("the layer's digest is wrong");
      assertThatThrownBy(sealed::get)
          .hasCauseInstanceOf(BadImageException.class)
          .hasMessageContaining("the layer's digest is wrong");
    }
    assertThat(directory.resolve("base.map")).doesNotExist();
    byte[] other = TestLayer.disk(SIZE, 9);
    StreamedFile again = StreamedFile.create(directory);
    again.begin("disk/vm.raw", other.length);
    again.bytes(ByteBuffer.wrap(other));
    again.end();
    try (Base base = Base.open(directory, again)) {
      assertThat(new Hydrator(base).run()).isTrue();
    }
    TestLayer.assertSealed(directory, other);
  }
}
