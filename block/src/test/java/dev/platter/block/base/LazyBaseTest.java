package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.Extent;
import dev.platter.block.nbd.NbdServer;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A base that is read while it is empty, full, or anything between. */
class LazyBaseTest {
  private static final int SIZE = (12 << 20) + 512;
  private static final int BLOCK = Base.BLOCK;

  @TempDir Path work;
  private Path directory;
  private static byte[] disk;
  private static TestLayer made;
  private TestLayer layer;

  @BeforeAll
  static void makeALayer() throws IOException {
    disk = TestLayer.disk(SIZE, 5);
    made = TestLayer.of(disk);
  }

  @BeforeEach
  void makeADirectory() throws IOException {
    directory = Files.createDirectory(work.resolve("image"));
    layer = made.again();
  }

  private byte[] expected(long offset, int length) {
    return Arrays.copyOfRange(disk, (int) offset, (int) offset + length);
  }

  @Test
  void qemuAndNbdcopySeeTheDiskWhileNothingOfItIsHere() throws IOException {
    Path raw = Files.write(work.resolve("disk.raw"), disk);
    Path socket = work.resolve("nbd.sock");
    String uri = "nbd+unix:///?socket=" + socket;
    try (Base base = Base.open(directory, layer.open(directory));
        var server = new NbdServer()) {
      server.listen(UnixDomainSocketAddress.of(socket));
      server.add("", base);
      assertThat(base.status().blocks().fetched()).isZero();
      run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri, raw);
      run("nbdcopy", "--connections=4", uri, work.resolve("copy"));
      assertThat(TestLayer.digest(work.resolve("copy"))).isEqualTo(TestLayer.digest(raw));
      assertThat(run("nbdinfo", "--size", uri).trim()).isEqualTo("" + SIZE);
      server.remove("");
    }
    assertThat(layer.bytes.get()).isLessThanOrEqualTo(layer.blob.length);
  }

  @ParameterizedTest
  @ValueSource(strings = {"512", "4096", "65536", "2097152"})
  void anyClusterSizeAndCompressionGivesTheDiskThatQemuSees(int cluster) throws IOException {
    Path raw = Files.write(work.resolve("disk.raw"), disk);
    for (String type : new String[] {"plain", "packed"}) {
      Path qcow2 = work.resolve(type + ".qcow2");
      String options = "cluster_size=" + cluster;
      if (type.equals("plain")) {
        run("qemu-img", "convert", "-O", "qcow2", "-o", options, raw, qcow2);
      } else {
        run("qemu-img", "convert", "-c", "-O", "qcow2", "-o", options, raw, qcow2);
      }
      Path place = Files.createDirectory(work.resolve(type));
      var foreign = new PlainLayer(Files.readAllBytes(qcow2));
      try (Base base = Base.open(place, foreign.open(place))) {
        var random = new Random(1);
        for (int i = 0; i < 60; i++) {
          int length = 1 + random.nextInt(200_000);
          long offset = random.nextInt(SIZE - length);
          assertThat(TestLayer.read(base, offset, length)).isEqualTo(expected(offset, length));
        }
        assertThat(new Hydrator(base).run()).isTrue();
      }
      run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", place.resolve("base.raw"), qcow2);
      run("cmp", place.resolve("base.raw"), raw);
    }
  }

  @Test
  void aRawDiskFileIsServedAsItIs() throws IOException {
    var foreign = new PlainLayer(disk);
    try (Base base = Base.open(directory, foreign.open(directory))) {
      assertThat(base.size()).isEqualTo(SIZE);
      assertThat(TestLayer.read(base, SIZE - 700, 700)).isEqualTo(expected(SIZE - 700, 700));
      assertThat(new Hydrator(base).run()).isTrue();
    }
    assertThat(Files.readAllBytes(directory.resolve("base.raw"))).isEqualTo(disk);
  }

  @Test
  void manyReadersFetchEachByteOfTheLayerOnce() throws Exception {
    try (Base base = Base.open(directory, layer.open(directory));
        var threads = Executors.newFixedThreadPool(20)) {
      List<Future<Void>> readers = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        var random = new Random(i % 4);
        Callable<Void> reader =
            () -> {
              for (int n = 0; n < 100; n++) {
                int length = 1 + random.nextInt(300_000);
                long offset = random.nextInt(SIZE - length);
                base.fetch(offset, length);
                assertThat(TestLayer.read(base, offset, length))
                    .isEqualTo(expected(offset, length));
              }
              return null;
            };
        readers.add(threads.submit(reader));
      }
      for (Future<Void> reader : readers) {
        reader.get();
      }
      assertThat(base.status().bytesFetched()).isEqualTo(layer.bytes.get());
    }
    var seen = new Ranges();
    for (Range request : layer.requests) {
      assertThat(seen.missing(request))
          .as("%s was fetched twice", request)
          .containsExactly(request);
      seen.add(request);
    }
  }

  @Test
  void aReadOverSeveralChunksIsOneRequest() throws IOException {
    byte[] full = new byte[8 << 20];
    new Random(3).nextBytes(full);
    TestLayer dense = TestLayer.of(full);
    try (Base base = Base.open(directory, dense.open(directory))) {
      TestLayer.read(base, 0, 1); // tables, and the first block
      dense.requests.clear();
      TestLayer.read(base, 4 << 20, 1 << 20);
      assertThat(dense.requests).hasSize(1);
    }
  }

  @Test
  void zerosAreKnownWithoutFetchingThemAndStayHoles() throws IOException {
    try (Base base = Base.open(directory, layer.open(directory))) {
      TestLayer.read(base, 0, 1);
      long before = layer.bytes.get();
      int end = SIZE * 7 / 8;
      assertThat(base.ready(end, SIZE - end)).isTrue();
      assertThat(TestLayer.read(base, end, SIZE - end)).isEqualTo(new byte[SIZE - end]);
      assertThat(base.extents(end, SIZE - end))
          .containsExactly(new Extent(SIZE - end, Extent.Kind.HOLE));
      assertThat(layer.bytes.get()).isEqualTo(before);
      assertThat(new Hydrator(base).run()).isTrue();
      long data = base.status().blocks().fetched() * BLOCK;
      assertThat(
              512 * Long.parseLong(run("stat", "-c", "%b", directory.resolve("base.raw")).trim()))
          .isLessThanOrEqualTo(data + 4096);
      assertThat(base.blockMap(10)).hasSize(10);
      assertThat(base.blockMap(10).getLast().zero()).isPositive();
      assertThat(base.blockMap(7).stream().mapToLong(BlockCounts::total).sum())
          .isEqualTo(base.status().blocks().total());
    }
  }

  @Test
  void anEmptyDiskOfATebibyteIsKnownFromItsHeader() throws IOException {
    Path qcow2 = work.resolve("empty.qcow2");
    run("qemu-img", "create", "-f", "qcow2", qcow2, "1T");
    try (Base base =
        Base.open(directory, new PlainLayer(Files.readAllBytes(qcow2)).open(directory))) {
      assertThat(base.ready(0, base.size())).isTrue();
      assertThat(base.extents(0, base.size()))
          .containsExactly(new Extent(1L << 40, Extent.Kind.HOLE));
    }
  }

  @Test
  void extentsDoNotFetch() throws IOException {
    try (Base base = Base.open(directory, layer.open(directory))) {
      int before = layer.requests.size();
      long covered = 0;
      for (Extent extent : base.extents(0, SIZE)) {
        covered += extent.length();
      }
      assertThat(covered).isEqualTo(SIZE);
      assertThat(layer.requests).hasSize(before);
    }
  }

  @Test
  void aRegistryThatIsDownMakesReadersWaitAndTheyGoOn() throws Exception {
    try (Base base = Base.open(directory, layer.open(directory));
        var threads = Executors.newSingleThreadExecutor()) {
      TestLayer.read(base, 0, 1);
      layer.outage = "the registry is on fire";
      int asked = layer.requests.size();
      long offset = missing(base);
      Future<byte[]> read = threads.submit(() -> TestLayer.read(base, offset, 1000));
      while (layer.requests.size() < asked + 3) {
        Thread.onSpinWait();
      }
      assertThat(read).isNotDone();
      assertThat(base.status().lastError()).isEqualTo("the registry is on fire");
      layer.outage = "";
      assertThat(read.get()).isEqualTo(expected(offset, 1000));
      while (base.status().lastError() != null) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void closingEndsThoseWhoWait() throws Exception {
    Base base = Base.open(directory, layer.open(directory));
    try (var threads = Executors.newSingleThreadExecutor()) {
      layer.outage = "gone";
      int asked = layer.requests.size();
      long offset = missing(base);
      Future<byte[]> read = threads.submit(() -> TestLayer.read(base, offset, 1000));
      while (layer.requests.size() == asked) {
        Thread.onSpinWait();
      }
      base.close();
      assertThatThrownBy(read::get).hasMessageContaining("closed");
    }
  }

  private static long missing(Base base) {
    long at = base.size() / 2;
    while (base.ready(at, 1000)) {
      at -= BLOCK;
    }
    return at;
  }

  @Test
  void whatIsOnItsWayIsWaitedForAndNotAskedForAgain() throws Exception {
    layer.gate = new CountDownLatch(1);
    layer.gateAt = layer.blob.length / 2;
    LayerFile file = layer.open(directory);
    file.prefetch(0, layer.written.toc().offset());
    try (Base base = Base.open(directory, file);
        var threads = Executors.newSingleThreadExecutor()) {
      int last = lastData();
      Future<byte[]> read = threads.submit(() -> TestLayer.read(base, last, 4096));
      while (layer.bytes.get() < layer.gateAt) {
        Thread.onSpinWait();
      }
      assertThat(read).isNotDone();
      layer.gate.countDown();
      assertThat(read.get()).isEqualTo(expected(last, 4096));
      assertThat(layer.requests).containsExactly(new Range(0, layer.written.toc().offset()));
    }
  }

  @Test
  void whatAPrefetchBringsIsMadeIntoBlocksBeforeAnybodyAsks() throws Exception {
    layer.gate = new CountDownLatch(1);
    layer.gateAt = layer.blob.length / 3;
    LayerFile file = layer.open(directory);
    file.prefetch(0, layer.blob.length);
    try (Base base = Base.open(directory, file)) {
      TestLayer.read(base, 0, 1); // now the tables are known
      layer.gate.countDown();
      int last = lastData();
      while (!base.ready(last, 4096)) {
        Thread.onSpinWait();
      }
      layer.outage = "not needed";
      assertThat(TestLayer.read(base, last, 4096)).isEqualTo(expected(last, 4096));
    }
  }

  private int lastData() {
    int at = SIZE - 1;
    while (disk[at] == 0) {
      at--;
    }
    return at - 4096;
  }

  @Test
  void aBadTransferIsRepeatedOnceAndABadChunkIsReported() throws IOException {
    Chunk chunk = layer.table().chunks().get(layer.table().chunks().size() - 2);
    layer.liesAt = chunk.blobOffset() + 30;
    layer.lies = 1;
    List<String> told = new ArrayList<>();
    try (LayerFile file =
        LayerFile.open(
            directory,
            layer.origin(),
            new ChunkCache(0),
            KnownChunks.NONE,
            e -> told.add(e.getMessage()))) {
      byte[] good = TestLayer.readAll(file);
      assertThat(good).hasSize((int) file.size());
      assertThat(told).isEmpty();
    }
    Path place = Files.createDirectory(work.resolve("bad"));
    layer.lies = 1000;
    try (LayerFile file =
        LayerFile.open(
            place,
            layer.origin(),
            new ChunkCache(0),
            KnownChunks.NONE,
            e -> told.add(e.getMessage()))) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> TestLayer.readAll(file))
            .isInstanceOf(BadImageException.class)
            .hasMessageContaining("the chunk at byte " + chunk.fileOffset());
      }
      assertThat(told).hasSize(1);
      assertThat(layer.lies).isEqualTo(998);
      byte[] others = new byte[chunk.plainSize()];
      file.readFully(ByteBuffer.wrap(others), 0);
    }
  }

  @Test
  void whatWasFetchedIsThereAfterTheNextOpen() throws IOException {
    try (Base base = Base.open(directory, layer.open(directory))) {
      base.fetch(0, 6 << 20);
    }
    layer.outage = "not needed";
    try (Base base = Base.open(directory, layer.open(directory))) {
      assertThat(base.ready(0, 6 << 20)).isTrue();
      assertThat(TestLayer.read(base, 0, 6 << 20)).isEqualTo(expected(0, 6 << 20));
      assertThat(base.status().bytesFetched()).isZero();
    }
  }

  @Test
  void aMapOfAnotherLayerOrWithoutItsFileIsNotBelieved() throws IOException {
    try (Base base = Base.open(directory, layer.open(directory))) {
      base.fetch(0, SIZE);
    }
    byte[] otherDisk = TestLayer.disk(SIZE, 6);
    TestLayer other = TestLayer.of(otherDisk);
    try (Base base = Base.open(directory, other.open(directory))) {
      assertThat(TestLayer.read(base, 0, SIZE)).isEqualTo(otherDisk);
    }
    Files.delete(directory.resolve("base.raw"));
    try (Base base = Base.open(directory, other.open(directory))) {
      assertThat(TestLayer.read(base, 0, SIZE)).isEqualTo(otherDisk);
    }
  }
}
