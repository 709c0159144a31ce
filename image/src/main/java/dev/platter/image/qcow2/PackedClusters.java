package dev.platter.image.qcow2;

import dev.platter.image.stream.Canvas;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Unpacks clusters of a qcow2 that passes by, with all processors: what is packed is collected into
 * batches, each of which is unpacked and written by one thread. A batch has its buffers and goes
 * round; who fills them waits when all are under way. Small clusters share pages of the target with
 * others, so they are unpacked by the thread that brings them.
 */
final class PackedClusters implements AutoCloseable {
  private static final int BATCH = 256 << 10;
  private static final int MOST_THREADS = 8;
  private static final int PAGE = 4096;
  private static final int SECTOR = 512;

  private final int clusterSize;
  private final List<Batch> batches = new ArrayList<>();
  private final BlockingQueue<Batch> idle;
  private final @Nullable ExecutorService threads;
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private @Nullable Batch filling;

  PackedClusters(Header header, Canvas canvas) {
    this.clusterSize = header.clusterSize();
    int processors = Math.min(Runtime.getRuntime().availableProcessors(), MOST_THREADS);
    boolean alone = clusterSize < PAGE || processors == 1;
    this.threads =
        alone
            ? null
            : Executors.newFixedThreadPool(
                processors, Thread.ofPlatform().name("unpack-", 0).factory());
    this.idle = new ArrayBlockingQueue<>(processors + 1);
    for (int i = 0; i < (alone ? 1 : processors + 1); i++) {
      var batch = new Batch(header.compression().decompressor(), alone ? canvas : canvas.another());
      batches.add(batch);
      idle.add(batch);
    }
  }

  /** Copies the bytes; what is wrong with them may be told later. */
  void add(long guest, ByteBuffer packed, long host) throws IOException {
    var batch = filling;
    if (batch != null && !batch.hasRoom(packed.remaining())) {
      submit(batch);
      batch = null;
    }
    if (batch == null) {
      batch = next();
      filling = batch;
    }
    batch.add(guest, packed, host);
  }

  private void submit(Batch batch) {
    filling = null;
    if (threads == null) {
      batch.run();
    } else {
      threads.execute(batch);
    }
  }

  private Batch next() throws IOException {
    try {
      var batch = idle.take();
      check();
      return batch;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a qcow2 is unpacked");
    }
  }

  private void check() throws IOException {
    switch (failure.get()) {
      case null -> {}
      case IOException e -> throw e;
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case Throwable e -> throw new IOException(e);
    }
  }

  /** Returns when all is written. */
  void finish() throws IOException {
    if (filling != null) {
      submit(filling);
    }
    for (int i = 0; i < batches.size(); i++) {
      next();
    }
  }

  @Override
  public void close() {
    if (threads != null) {
      threads.close();
    }
    batches.forEach(batch -> batch.decompressor.close());
  }

  /** Some clusters that are still packed. */
  private final class Batch implements Runnable {
    private record Entry(long guest, long host, int start, int length) {}

    private final Decompressor decompressor;
    private final Canvas canvas;
    private final ByteBuffer packed =
        ByteBuffer.allocateDirect(Math.max(BATCH, 2 * clusterSize) + SECTOR);
    private final ByteBuffer cluster = ByteBuffer.allocateDirect(clusterSize);
    private final List<Entry> entries = new ArrayList<>();

    Batch(Decompressor decompressor, Canvas canvas) {
      this.decompressor = decompressor;
      this.canvas = canvas;
    }

    boolean hasRoom(int bytes) {
      return packed.remaining() >= bytes + SECTOR;
    }

    void add(long guest, ByteBuffer bytes, long host) {
      int start = packed.position();
      packed.put(bytes);
      // Zeros past the end of the file, as QEMU has it.
      Workspace.zero(packed, SECTOR);
      entries.add(new Entry(guest, host, start, packed.position() - start));
    }

    @Override
    public void run() {
      try {
        if (failure.get() == null) {
          unpack();
        }
      } catch (Throwable e) { // Whatever it is, who brings the bytes has to hear of it.
        failure.compareAndSet(null, e);
      } finally {
        entries.clear();
        packed.clear();
        idle.add(this);
      }
    }

    private void unpack() throws IOException {
      for (Entry entry : entries) {
        ByteBuffer in = packed.slice(entry.start, entry.length);
        if (!decompressor.fill(in, cluster.clear())) {
          throw Refused.at(
              entry.host,
              "compressed data does not unpack to a cluster of " + clusterSize + " bytes");
        }
        canvas.write(entry.guest, cluster.clear());
      }
      canvas.flush();
    }
  }
}
