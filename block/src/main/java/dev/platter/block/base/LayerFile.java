package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.raw.Courtesy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The disk file of a layer that can be read in chunks. A chunk is taken from memory, from the
 * spool, from another base that has it, or from the registry, in this order, and verified wherever
 * it comes from. Everybody who waits for the same chunk waits for one fetch and one unpacking.
 *
 * <p>A chunk that does not verify is fetched once more. If that does not help it is bad for good:
 * its readers fail and the owner is told, once.
 */
public final class LayerFile implements DiskFile {
  /**
   * A layer with a disk file.
   *
   * @param diffId asked for when the layer is complete
   */
  public record Origin(BlobSource source, Descriptor layer, DiffId diffId, ChunkedFile file) {}

  /** The digest of the tar in a layer; null if it is no tar but the disk file itself. */
  @FunctionalInterface
  public interface DiffId {
    @Nullable Digest get() throws IOException;
  }

  /** Is given chunks as they come, whoever asked for them. */
  interface Arrivals {
    void arrived(Chunk chunk, PlainChunk plain) throws IOException;
  }

  /** How many chunks have to come out alike before the others are believed to. */
  private static final int REPACKED = 4;

  private final Origin origin;
  private final ChunkedFile file;
  private final Spool spool;
  private final Transfers transfers;
  private final ChunkCache cache;
  private final KnownChunks known;
  private final Consumer<BadImageException> onBad;
  private final Progress progress = new Progress();
  private final Map<Integer, CompletableFuture<PlainChunk>> loading = new ConcurrentHashMap<>();
  private final Map<Integer, BadImageException> bad = new ConcurrentHashMap<>();
  private volatile @Nullable Arrivals arrivals;
  private volatile boolean closed;

  private LayerFile(
      Origin origin,
      Spool spool,
      ChunkCache cache,
      KnownChunks known,
      Consumer<BadImageException> onBad) {
    this.origin = origin;
    this.file = origin.file();
    this.spool = spool;
    this.transfers = new Transfers(origin.source(), origin.layer(), spool, progress);
    this.cache = cache;
    this.known = known;
    this.onBad = onBad;
  }

  /**
   * Goes on with what the directory has of the layer.
   *
   * @param onBad told of a chunk that is bad for good
   */
  public static LayerFile open(
      Path directory,
      Origin origin,
      ChunkCache cache,
      KnownChunks known,
      Consumer<BadImageException> onBad)
      throws IOException {
    Spool spool = Spool.open(new BaseFiles(directory), origin.layer());
    return new LayerFile(origin, spool, cache, known, onBad);
  }

  /**
   * Begins to fetch a stretch of the layer by one request and returns. What arrives is unpacked at
   * once, in order.
   */
  public void prefetch(long blobFrom, long length) {
    var stretch = new Range(blobFrom, Math.min(blobFrom + length, origin.layer().size()));
    transfers.begin(stretch, head(stretch));
    // Unpacking is work for a processor: a virtual thread would keep others from theirs.
    Thread.ofPlatform().name("prefetch").daemon().start(() -> unpack(stretch));
  }

  /** Where the first chunk of a stretch ends, which is what a guest waits for. */
  private long head(Range stretch) {
    for (int i = 0; i < file.chunks().size(); i++) {
      Range chunk = blobRange(i);
      if (chunk.from() >= stretch.from()) {
        return chunk.to();
      }
    }
    return stretch.to();
  }

  private void unpack(Range stretch) {
    Courtesy.stepBack(); // behind the guest, which does not know yet what it will read
    try {
      for (int i = 0; i < file.chunks().size() && !closed; i++) {
        Range chunk = blobRange(i);
        if (chunk.from() >= stretch.from() && chunk.to() <= stretch.to()) {
          if (!known.has(file.chunks().get(i).digest())) {
            transfers.follow(chunk);
          }
          show(i);
        }
      }
    } catch (IOException e) {
      // Closed, or a bad chunk: whoever needs it will see the same.
      progress.failed(e);
    }
  }

  /** Verifies a chunk and shows it to the base. */
  void show(int chunk) throws IOException {
    PlainChunk plain = chunk(chunk);
    Arrivals told = arrivals;
    if (told != null) {
      told.arrived(file.chunks().get(chunk), plain);
    }
  }

  /**
   * Puts the bytes of a chunk that another base has into the spool, so that they need not be
   * fetched for the layer's digest.
   */
  void repack(int index) throws IOException {
    Chunk chunk = file.chunks().get(index);
    Range range = blobRange(index);
    if (spool.has(range) || !known.has(chunk.digest())) {
      return;
    }
    byte[] plain = chunk(index).bytes();
    byte[] packed = spool.has(range) ? null : file.pack(chunk, plain);
    if (packed != null) {
      spool.keep(chunk.blobOffset(), packed, packed.length);
    }
  }

  /** Whether chunks that were fetched are packed as we would pack them; fetches one if need be. */
  boolean canRepack() throws IOException {
    transfers.whenIdle(blobRange(0));
    int tried = 0;
    for (int i = 0; i < file.chunks().size() && tried < REPACKED; i++) {
      if (spool.has(blobRange(i))) {
        byte[] fetched = spool.read(blobRange(i));
        if (!Arrays.equals(file.pack(file.chunks().get(i), chunk(i).bytes()), fetched)) {
          return false;
        }
        tried++;
      }
    }
    return true;
  }

  void onArrival(Arrivals arrivals) {
    this.arrivals = arrivals;
  }

  Origin origin() {
    return origin;
  }

  Spool spool() {
    return spool;
  }

  Transfers transfers() {
    return transfers;
  }

  @Override
  public Progress progress() {
    return progress;
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public int read(ByteBuffer into, long position) throws IOException {
    if (position >= file.size()) {
      return -1;
    }
    int length = (int) Math.min(into.remaining(), file.size() - position);
    if (length == 0) {
      return 0;
    }
    int index = file.chunkAt(position);
    Chunk chunk = file.chunks().get(index);
    int start = (int) (position - chunk.fileOffset());
    int n = Math.min(length, chunk.plainSize() - start);
    into.put(chunk(index).bytes(), start, n);
    return n;
  }

  @Override
  public void bring(Iterable<Range> ranges) throws IOException {
    var wanted = new Ranges();
    for (Range range : ranges) {
      long end = Math.min(range.to(), file.size());
      for (long at = range.from(); at < end; ) {
        int index = file.chunkAt(at);
        Chunk chunk = file.chunks().get(index);
        if (!isHere(index) && !known.has(chunk.digest())) {
          wanted.add(blobRange(index));
        }
        at = chunk.fileOffset() + chunk.plainSize();
      }
    }
    transfers.demand(wanted);
  }

  private boolean isHere(int index) {
    return cache.get(this, index) != null || spool.has(blobRange(index));
  }

  private Range blobRange(int index) {
    Chunk chunk = file.chunks().get(index);
    return new Range(chunk.blobOffset(), chunk.blobOffset() + chunk.blobLength());
  }

  @Override
  public @Nullable Sharing sharing(long position) throws IOException {
    int index = file.chunkAt(position);
    return chunk(index).sharing((int) (position - file.chunks().get(index).fileOffset()));
  }

  private PlainChunk chunk(int index) throws IOException {
    PlainChunk plain = cache.get(this, index);
    if (plain != null) {
      return plain;
    }
    var mine = new CompletableFuture<PlainChunk>();
    CompletableFuture<PlainChunk> others = loading.putIfAbsent(index, mine);
    if (others != null) {
      return await(others);
    }
    try {
      plain = cache.get(this, index); // somebody may have been quick
      if (plain == null) {
        plain = load(index);
        cache.put(this, index, plain);
      }
      mine.complete(plain);
      return plain;
    } catch (Throwable e) {
      mine.completeExceptionally(e);
      throw e;
    } finally {
      loading.remove(index, mine);
    }
  }

  private static PlainChunk await(CompletableFuture<PlainChunk> others) throws IOException {
    try {
      return others.join();
    } catch (CompletionException e) {
      Throwable cause = e.getCause();
      String why = cause == null ? "" : String.valueOf(cause.getMessage());
      throw cause instanceof BadImageException
          ? new BadImageException(why, e)
          : new IOException(why, e);
    }
  }

  private PlainChunk load(int index) throws IOException {
    BadImageException refused = bad.get(index);
    if (refused != null) {
      throw new BadImageException(String.valueOf(refused.getMessage()), refused);
    }
    Chunk chunk = file.chunks().get(index);
    Range range = blobRange(index);
    if (!spool.has(range)) {
      KnownChunks.Known found = known.find(chunk);
      if (found != null) {
        return new PlainChunk(found.bytes(), found);
      }
    }
    var wanted = new Ranges();
    wanted.add(range);
    for (boolean again = false; ; again = true) {
      transfers.demand(wanted);
      try {
        return new PlainChunk(file.decode(chunk, spool.read(range)), null);
      } catch (BadImageException e) {
        spool.forget(range);
        progress.failed(e);
        if (again) {
          bad.put(index, e);
          onBad.accept(e);
          throw e;
        }
      }
    }
  }

  /** Makes durable what was fetched. */
  void checkpoint() throws IOException {
    spool.checkpoint();
  }

  /** Those who wait for a chunk fail. */
  void stop() {
    closed = true;
    transfers.close();
  }

  @Override
  public void close() throws IOException {
    stop();
    cache.drop(this);
    spool.close();
  }
}
