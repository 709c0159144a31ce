package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Completes a base while it is served: fetches what is missing of the layer, in order and by large
 * ranges, makes blocks of it, and verifies the whole. It may be stopped or killed at any point; the
 * next one goes on.
 *
 * <p>When {@link #run} has returned true, the raw file is complete, verified and on the disk, and
 * needs nothing else. Making that known, and removing what is left of the work, is the owner's.
 */
public final class Hydrator implements Closeable {
  private static final int MOST_AT_ONCE = 4 << 20;
  private static final int LEAST_AT_ONCE = 256 << 10;

  private final Base base;
  private final Rate rate;
  private final Stop stop = new Stop();
  private final Stop hurry = new Stop();

  /** Fetches as fast as it can. */
  public Hydrator(Base base) {
    this(base, Rate.NONE);
  }

  /**
   * @param rate of all who share it; a layer that is streamed comes as fast as it can, since its
   *     guest waits for all of it
   */
  public Hydrator(Base base, Rate rate) {
    this.base = base;
    this.rate = rate;
  }

  /** Somebody waits for all of it: from now on there is no limit. */
  public void hurry() {
    hurry.give();
  }

  /**
   * Works until the base is complete.
   *
   * @return false if it, or the base, was closed before
   * @throws BadImageException if the image is not what it says; names what is wrong
   */
  public boolean run() throws IOException {
    try {
      switch (base.file()) {
        case LayerFile layer -> completeAndCheck(layer);
        case StreamedFile stream -> stream.awaitEnd();
      }
      throwIfClosed();
      try {
        base.filler().check();
      } catch (BadImageException e) {
        throw new BadImageException("the disk's tables: " + e.getMessage(), e);
      }
      base.filler().scanAll();
      for (int block = base.nextMissing(0); block >= 0; block = base.nextMissing(block)) {
        throwIfClosed();
        base.complete(block);
      }
      base.sync();
      publish(base.directory(), ChunkIndex.encode(base.filler().index()));
      return true;
    } catch (BadImageException e) {
      throw e;
    } catch (IOException e) {
      if (isClosed()) {
        return false;
      }
      throw e;
    }
  }

  private void completeAndCheck(LayerFile layer) throws IOException {
    base.filler().scanAll();
    var check = new LayerCheck(layer.origin(), layer.spool(), this::isClosed);
    complete(layer, layer.canRepack());
    try {
      check.digest();
    } catch (BadImageException e) {
      // A transfer went wrong where no chunk is, or a chunk is packed in an unusual way: what the
      // registry has counts.
      layer.progress().failed(e);
      layer.spool().forget(new Range(0, layer.spool().size()));
      complete(layer, false);
      check.digest();
    }
    check.content();
  }

  private void complete(LayerFile layer, boolean repack) throws IOException {
    List<Chunk> chunks = layer.origin().file().chunks();
    Spool spool = layer.spool();
    int next = 0;
    for (long from = 0, to; from < spool.size(); from = to) {
      Rate limit = hurry.isGiven() ? Rate.NONE : rate;
      int window = limit.atOnce(LEAST_AT_ONCE, MOST_AT_ONCE);
      int last = next;
      while (last < chunks.size() && end(chunks.get(last)) <= from + window) {
        last++;
      }
      // No chunk is cut, if one fits: a chunk that is known is not to be fetched by half.
      boolean fits = next < last && last < chunks.size();
      to = fits ? end(chunks.get(last - 1)) : Math.min(spool.size(), from + window);
      for (int i = next; repack && i < last; i++) {
        throwIfClosed();
        layer.repack(i);
      }
      List<Range> wanted = spool.missing(new Range(from, to));
      Rate.Share share = limit.share(wanted.stream().mapToLong(Range::length).sum());
      for (Range missing : wanted) {
        throwIfClosed();
        layer.transfers().whenIdle(missing);
      }
      for (; next < last; next++) {
        throwIfClosed();
        if (base.filler().wants(chunks.get(next))) {
          layer.show(next);
        }
      }
      var _ = hurry.within(share.nanosLeft());
    }
  }

  private static long end(Chunk chunk) {
    return chunk.blobOffset() + chunk.blobLength();
  }

  private static void publish(Path directory, ByteBuffer bytes) throws IOException {
    Path index = new BaseFiles(directory).index();
    Path work = index.resolveSibling(index.getFileName() + ".new");
    try (FileChannel out =
        FileChannel.open(
            work,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      while (bytes.hasRemaining()) {
        out.write(bytes);
      }
      out.force(true);
    }
    Files.move(work, index, StandardCopyOption.ATOMIC_MOVE);
    OpenFiles.sync(directory);
  }

  private boolean isClosed() {
    return stop.isGiven() || base.isClosed();
  }

  private void throwIfClosed() throws IOException {
    if (isClosed()) {
      throw new IOException("stopped");
    }
  }

  /** Makes {@link #run} return soon; does not wait for it. */
  @Override
  public void close() {
    stop.give();
    hurry.give();
  }
}
