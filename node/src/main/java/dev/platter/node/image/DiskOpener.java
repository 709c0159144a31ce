package dev.platter.node.image;

import dev.platter.block.base.Base;
import dev.platter.block.base.BaseFiles;
import dev.platter.block.base.ChunkCache;
import dev.platter.block.base.LayerFile;
import dev.platter.block.base.StreamedFile;
import dev.platter.image.BadImageException;
import dev.platter.image.DiskSink;
import dev.platter.image.lazy.DiskLocation;
import dev.platter.image.lazy.DiskLocator;
import dev.platter.image.lazy.LayerIndex;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Manifest;
import dev.platter.image.seekable.LayerAnnotations;
import dev.platter.registry.RegistryClient;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Finds the way in which the disk of an image can be read, cheapest first, and opens its base: in
 * chunks, or as a stream that is served as it passes.
 */
final class DiskOpener {
  private static final Duration TO_OPEN = Duration.ofMinutes(2);

  private final Path directory;
  private final Ways source;
  private final Manifest manifest;
  private final Store store;
  private final Keepsakes keepsakes;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final CountDownLatch opened = new CountDownLatch(1);
  private final BadNews badNews = new BadNews();
  private final List<LayerIndex> indexes = new CopyOnWriteArrayList<>();

  /** What the images of a machine have in common. */
  record Store(ChunkCache cache, Donors donors, IndexStore indexes) {}

  /**
   * @param badNews is told of what is bad for good
   * @param indexes of layers that were read from end to end, so far
   * @param advice where a boot trace may be found, if one would help
   */
  record Opened(
      Base base,
      Closeable file,
      String name,
      BadNews badNews,
      List<LayerIndex> indexes,
      Optional<RegistryClient> advice,
      AtomicBoolean closed)
      implements Closeable {
    @Override
    public void close() throws IOException {
      closed.set(true);
      try (file) {
        base.close();
      }
    }
  }

  private DiskOpener(
      Path directory, Ways source, Manifest manifest, Store store, Keepsakes keepsakes) {
    this.keepsakes = keepsakes;
    this.directory = directory;
    this.source = source;
    this.manifest = manifest;
    this.store = store;
  }

  static Opened open(
      Path directory, Ways source, Manifest manifest, Store store, Keepsakes keepsakes)
      throws IOException {
    return new DiskOpener(directory, source, manifest, store, keepsakes).open();
  }

  private Opened open() throws IOException {
    var prefix = bootPrefix();
    if (prefix == 0) {
      return locate(source, 0);
    }
    try (var early = new EarlyPrefix(source, manifest.layers().getLast(), prefix)) {
      return locate(early, prefix);
    }
  }

  /** How much of the top layer a boot wants; nothing if some of it is here already. */
  private long bootPrefix() throws BadImageException {
    var layers = manifest.layers();
    return layers.isEmpty() || Files.exists(new BaseFiles(directory).layer())
        ? 0
        : LayerAnnotations.bootPrefix(layers.getLast()).orElse(0);
  }

  private Opened locate(BlobSource wire, long prefix) throws IOException {
    var kept =
        new KeptRanges(
            new PatientBlobs(wire, () -> opened.getCount() == 0 && !closed.get()),
            directory.resolve("contents"),
            keepsakes);
    var locator = DiskLocator.of(kept, manifest, store.indexes());
    return switch (locator.locate()) {
      case DiskLocation.Chunked chunked -> inChunks(wire, locator, chunked, prefix);
      case DiskLocation.Streamed _ -> streamed(wire, locator);
    };
  }

  /** Guests wait for ever; who asks for an image for the first time is told in time. */
  private void giveUpLater(Closeable file) {
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                if (!opened.await(TO_OPEN.toSeconds(), TimeUnit.SECONDS)) {
                  file.close();
                }
              } catch (InterruptedException | IOException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  private Opened inChunks(
      BlobSource wire, DiskLocator locator, DiskLocation.Chunked disk, long prefix)
      throws IOException {
    var origin =
        new LayerFile.Origin(
            wire,
            disk.layer(),
            () -> {
              var ids = locator.diffIds();
              return ids.isEmpty() ? null : ids.get(disk.position());
            },
            disk.file());
    var file =
        LayerFile.open(
            directory, origin, store.cache(), store.donors().forImageOf(source.place()), badNews);
    giveUpLater(file);
    try {
      if (prefix > 0) {
        file.prefetch(0, prefix);
      }
      var inOrder = prefix > 0 && LayerAnnotations.bootTrace(disk.layer()).isPresent();
      return opened(Base.open(directory, file), file, disk.name(), inOrder);
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  private Opened opened(Base base, Closeable file, String name, boolean inOrder) {
    opened.countDown();
    Optional<RegistryClient> advice = inOrder ? Optional.empty() : source.registry();
    return new Opened(base, file, name, badNews, indexes, advice, closed);
  }

  /** Returns when the disk begins to pass; the rest of the layer follows. */
  private Opened streamed(BlobSource wire, DiskLocator locator) throws IOException {
    var file = StreamedFile.create(directory);
    giveUpLater(file);
    var begun = new CompletableFuture<DiskLocation>();
    var name = new CompletableFuture<String>();
    Thread.ofPlatform()
        .name("stream")
        .daemon()
        .start(() -> pass(locator, new Announcing(file, name), file, begun, name));
    try {
      var first = CompletableFuture.anyOf(begun, name).join();
      if (first instanceof DiskLocation.Chunked chunked) {
        file.close();
        return inChunks(wire, locator, chunked, 0);
      }
      return opened(Base.open(directory, file), file, name.join(), true);
    } catch (CompletionException e) {
      closed.set(true);
      file.close();
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw e;
    } catch (IOException | RuntimeException e) {
      closed.set(true);
      file.close();
      throw e;
    }
  }

  private void pass(
      DiskLocator locator,
      DiskSink sink,
      StreamedFile file,
      CompletableFuture<DiskLocation> found,
      CompletableFuture<String> name) {
    try {
      var location = locator.stream(sink, indexes::add, (_, _) -> {});
      if (location instanceof DiskLocation.Streamed) {
        file.end();
      }
      found.complete(location);
    } catch (BadImageException e) {
      file.fail(e);
      found.completeExceptionally(e);
      if (name.isDone()) {
        badNews.accept(e);
      }
    } catch (IOException | RuntimeException e) {
      file.fail(e instanceof IOException io ? io : new IOException(e));
      found.completeExceptionally(e);
    }
  }

  /** Tells when the disk begins. */
  private record Announcing(DiskSink sink, CompletableFuture<String> name) implements DiskSink {
    @Override
    public void begin(String file, long size) throws IOException {
      sink.begin(file, size);
      name.complete(file);
    }

    @Override
    public void bytes(ByteBuffer bytes) throws IOException {
      sink.bytes(bytes);
    }
  }
}
