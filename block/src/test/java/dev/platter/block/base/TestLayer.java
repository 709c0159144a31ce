package dev.platter.block.base;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.ByteSource;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.GuestDisk;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.LayerAnnotations;
import dev.platter.image.seekable.SeekableLayer;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.image.seekable.TocPosition;
import dev.platter.image.seekable.WrittenLayer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** A layer with a disk in it, and a registry in memory that tells what it was asked for. */
final class TestLayer implements BlobSource {
  static final int BLOCK = Base.BLOCK;

  final byte[] blob;
  final WrittenLayer written;
  final List<Range> requests = new CopyOnWriteArrayList<>();
  final AtomicLong bytes = new AtomicLong();

  /** Set to a message: every request fails with it. */
  volatile String outage = "";

  /** Streams stop after some bytes until it is counted down. */
  volatile CountDownLatch gate = new CountDownLatch(0);

  volatile long gateAt = Long.MAX_VALUE;

  /** How long a registry takes for 16 KiB. */
  volatile long pauseMillis;

  /** This byte of the blob comes out wrong, so many times. */
  volatile long liesAt = -1;

  volatile int lies;

  private TestLayer(byte[] blob, WrittenLayer written) {
    this.blob = blob;
    this.written = written;
  }

  /** A disk as disks are: noise, text, zeros; none of it aligned, and a large empty end. */
  static byte[] disk(int size, long state) {
    var random = new Random(state);
    byte[] bytes = new byte[size];
    for (int at = 0; at < size * 3 / 4; ) {
      int end = Math.min(size, at + 1 + random.nextInt(400_000));
      switch (random.nextInt(3)) {
        case 0 -> {}
        case 1 -> {
          byte[] noise = new byte[end - at];
          random.nextBytes(noise);
          System.arraycopy(noise, 0, bytes, at, noise.length);
        }
        default -> {
          for (int i = at; i < end; i++) {
            bytes[i] = (byte) ('a' + random.nextInt(4));
          }
        }
      }
      at = end;
    }
    return bytes;
  }

  static TestLayer of(byte[] disk, long... bootOrder) throws IOException {
    Path raw = Files.createTempFile("layer", ".raw");
    try {
      Files.write(raw, disk);
      try (RawDisk file = RawDisk.open(raw)) {
        return of(file, bootOrder);
      }
    } finally {
      Files.delete(raw);
    }
  }

  static TestLayer of(GuestDisk disk, long... bootOrder) throws IOException {
    var out = new ByteArrayOutputStream();
    WrittenLayer written = new SeekableLayerWriter(2).write(out, "vm", disk, bootOrder);
    return new TestLayer(out.toByteArray(), written);
  }

  /** So that another process need not make the layer again. */
  void save(Path file) throws IOException {
    String facts =
        String.join(
            "\n",
            written.digest().toString(),
            "" + written.size(),
            written.diffId().toString(),
            "" + written.uncompressedSize(),
            written.tocDigest().toString(),
            "" + written.toc().offset(),
            "" + written.toc().length(),
            "" + written.virtualSize(),
            "" + written.chunkSize(),
            "" + written.bootPrefix());
    Files.write(file, blob);
    Files.writeString(Path.of(file + ".facts"), facts);
  }

  static TestLayer load(Path file) throws IOException {
    List<String> facts = Files.readAllLines(Path.of(file + ".facts"));
    long size = Long.parseLong(facts.get(1));
    var written =
        new WrittenLayer(
            Digest.parse(facts.get(0)),
            size,
            Digest.parse(facts.get(2)),
            Long.parseLong(facts.get(3)),
            Digest.parse(facts.get(4)),
            new TocPosition(Long.parseLong(facts.get(5)), Integer.parseInt(facts.get(6))),
            Long.parseLong(facts.get(7)),
            Integer.parseInt(facts.get(8)),
            Long.parseLong(facts.get(9)),
            null);
    return new TestLayer(Files.readAllBytes(file), written);
  }

  /** The same layer in another registry. */
  TestLayer again() {
    return new TestLayer(blob, written);
  }

  Descriptor descriptor() {
    return written.layer().descriptor();
  }

  ChunkedFile table() throws IOException {
    TocPosition toc = written.toc();
    byte[] member = Arrays.copyOfRange(blob, (int) toc.offset(), (int) toc.offset() + toc.length());
    return SeekableLayer.open(member, toc, LayerAnnotations.tocDigest(descriptor()).orElseThrow());
  }

  LayerFile.Origin origin() throws IOException {
    return new LayerFile.Origin(this, descriptor(), written::diffId, table());
  }

  LayerFile open(Path directory) throws IOException {
    return open(directory, KnownChunks.NONE);
  }

  LayerFile open(Path directory, KnownChunks known) throws IOException {
    return LayerFile.open(directory, origin(), new ChunkCache(8 << 20), known, _ -> {});
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform wanted) {
    throw new UnsupportedOperationException("there is only one layer");
  }

  @Override
  public InputStream open(Descriptor layer) {
    throw new UnsupportedOperationException("layers are read in parts");
  }

  @Override
  public InputStream open(Descriptor layer, long from, long length) throws IOException {
    requests.add(new Range(from, from + length));
    if (!outage.isEmpty()) {
      throw new IOException(outage);
    }
    byte[] part = Arrays.copyOfRange(blob, (int) from, (int) (from + length));
    synchronized (this) {
      if (lies > 0 && liesAt >= from && liesAt < from + length) {
        part[(int) (liesAt - from)] ^= 1;
        lies--;
      }
    }
    return new ByteArrayInputStream(part) {
      @Override
      public int read(byte[] into, int start, int most) {
        if (from + pos >= gateAt) {
          awaitGate();
        }
        pause();
        int n = super.read(into, start, Math.min(most, 16 << 10));
        bytes.addAndGet(Math.max(0, n));
        return n;
      }
    };
  }

  private void pause() {
    try {
      Thread.sleep(pauseMillis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void awaitGate() {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static byte[] read(Base base, long offset, int length) throws IOException {
    ByteBuffer into = ByteBuffer.allocate(length);
    base.read(offset, into);
    return into.array();
  }

  static void assertSealed(Path directory, byte[] disk) throws IOException {
    assertThat(Files.readAllBytes(directory.resolve("base.raw"))).isEqualTo(disk);
    assertThat(directory.resolve("chunks.index")).exists();
  }

  static byte[] readAll(ByteSource source) throws IOException {
    ByteBuffer into = ByteBuffer.allocate((int) source.size());
    source.readFully(into, 0);
    return into.array();
  }

  static Digest digest(Path file) throws IOException {
    return Digest.of(Files.readAllBytes(file));
  }
}
