package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.DiskSink;
import dev.platter.image.Printable;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.ImageConfig;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.Progress;
import dev.platter.image.seekable.Toc;
import dev.platter.image.tar.TarEntry;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Finds the one disk file of an image, and how it can be read: in chunks if its layer has a table
 * of contents (eStargz, zstd:chunked) or an index from an earlier reading, else as a stream.
 *
 * <p>Layers are looked at from the top down, as few as it takes, since {@link Overlay} decides: one
 * that hides all of {@code /disk} below it ends the search. A layer that nothing is known of has to
 * be read; what passes is the disk if nothing above hides or replaces it, so one reading is enough
 * for nearly every image. Where it is not (a hard link to what went by), the layer is read again,
 * by its index if it can.
 *
 * <p>One object is for one image and one thread. Requests: none for a layer with an index; one for
 * a table of contents whose place the manifest tells, two for other eStargz.
 */
public final class DiskLocator {
  /** What a layer may unpack to if the caller does not say: stops a bomb, fits real disks. */
  public static final long MAX_BYTES = 1L << 40;

  /** As many as Docker allows. */
  private static final int MAX_LAYERS = 127;

  /** How many hidden files may come before the disk, if it is to pass at the first reading. */
  private static final int MAX_TRIES = 100;

  private final BlobSource source;
  private final Manifest manifest;
  private final LayerIndexes indexes;
  private final boolean inChunks;
  private final long maxBytes;
  private final @Nullable KnownLayer[] known;
  private final boolean[] noToc;
  private @Nullable List<Digest> diffIds;
  private @Nullable Passed passed;

  /** What the sink has. */
  private record Passed(int layer, int entry) {}

  private DiskLocator(
      BlobSource source, Manifest manifest, LayerIndexes indexes, boolean inChunks, long maxBytes) {
    this.source = source;
    this.manifest = manifest;
    this.indexes = indexes;
    this.inChunks = inChunks;
    this.maxBytes = maxBytes;
    this.known = new @Nullable KnownLayer[manifest.layers().size()];
    this.noToc = new boolean[known.length];
  }

  public static DiskLocator of(BlobSource source, Manifest manifest, LayerIndexes indexes) {
    return new DiskLocator(source, manifest, indexes, true, MAX_BYTES);
  }

  /** Believes no table of contents: for who reads layers from end to end in any case. */
  static DiskLocator streaming(BlobSource source, Manifest manifest, long maxBytes) {
    return new DiskLocator(source, manifest, LayerIndexes.NONE, false, maxBytes);
  }

  /** Where the disk is as far as it is known now; reads no layer as a whole. */
  public DiskLocation locate() throws IOException {
    while (true) {
      switch (search()) {
        case Search.Needs(int position) -> {
          return streamed(position);
        }
        case Search.Found(Overlay.Disk disk) -> {
          @Nullable DiskLocation location = locate(disk);
          if (location != null) {
            return location;
          }
        }
      }
    }
  }

  private sealed interface Search {
    /** A layer of which nothing is known decides. */
    record Needs(int position) implements Search {}

    record Found(Overlay.Disk disk) implements Search {}
  }

  private Search search() throws IOException {
    for (int hiding = 0; ; hiding++) {
      int lowest = lookDown(hiding);
      if (lowest < 0) {
        return new Search.Needs(-lowest - 1);
      }
      Optional<Overlay.Disk> disk = overlay(lowest).disk(lowest == 0);
      if (disk.isPresent()) {
        return new Search.Found(disk.get());
      }
      // A hard link names something in a layer below, of which nothing else shows.
    }
  }

  private DiskLocation.Streamed streamed(int position) {
    return new DiskLocation.Streamed(position, manifest.layers().get(position));
  }

  /**
   * Gets to know layers from the top until nothing below shows, and some more. Returns the lowest
   * one; or, as -1 - its position, one that has to be read.
   */
  private int lookDown(int more) throws IOException {
    if (known.length > MAX_LAYERS) {
      throw new BadImageException(
          "the image has %d layers, %d is the most".formatted(known.length, MAX_LAYERS));
    }
    int left = more;
    for (int i = known.length - 1; i >= 0; i--) {
      @Nullable KnownLayer layer = know(i);
      if (layer == null) {
        return -1 - i;
      }
      if ((Overlay.hidesBelow(layer.entries()) && left-- == 0) || i == 0) {
        return i;
      }
    }
    throw new BadImageException("the image has no layers");
  }

  private Overlay overlay(int lowest) throws BadImageException {
    var overlay = new Overlay();
    for (int i = lowest; i < known.length; i++) {
      @Nullable KnownLayer layer = known[i];
      if (layer != null) {
        overlay.add(i, layer.entries());
      }
    }
    return overlay;
  }

  /** Null if a table of contents turned out to be of no use. */
  private @Nullable DiskLocation locate(Overlay.Disk disk) throws IOException {
    @Nullable KnownLayer layer = known[disk.layer()];
    if (layer == null) {
      throw new IllegalStateException("a disk in an unknown layer");
    }
    if (layer.entries().get(disk.entry()).size() == 0) {
      throw new BadImageException(
          "the disk of the image, /%s, is empty".formatted(Printable.of(disk.name())));
    }
    Optional<ChunkedFile> file = inChunks ? layer.file(disk.entry()) : Optional.empty();
    if (file.isPresent()) {
      Descriptor descriptor = manifest.layers().get(disk.layer());
      return new DiskLocation.Chunked(disk.layer(), descriptor, file.get(), disk.name());
    }
    return switch (layer) {
      case KnownLayer.ByToc _ -> {
        noToc[disk.layer()] = true;
        known[disk.layer()] = null;
        yield null;
      }
      case KnownLayer.ByIndex _ -> streamed(disk.layer());
    };
  }

  private @Nullable KnownLayer know(int position) throws IOException {
    if (known[position] == null) {
      Descriptor layer = manifest.layers().get(position);
      Optional<LayerIndex> index = indexes.find(layer.digest());
      if (index.isPresent() && index.get().layer().equals(layer.digest())) {
        known[position] = new KnownLayer.ByIndex(index.get());
      } else if (inChunks && !noToc[position]) {
        Optional<Toc> toc = new TocFetch(source, layer).fetch(LayerFormat.of(manifest, position));
        known[position] = toc.isEmpty() ? null : new KnownLayer.ByToc(toc.get());
      }
    }
    return known[position];
  }

  /**
   * The digest of each layer's tar, lowest first; empty for an artifact, which has no config that
   * could name them. Fetches the config when asked the first time.
   */
  public List<Digest> diffIds() throws IOException {
    if (diffIds == null) {
      diffIds = ImageConfig.diffIds(source, manifest);
    }
    return diffIds;
  }

  /** Is given the index of each layer that was read. */
  @FunctionalInterface
  public interface Kept {
    void keep(LayerIndex index) throws IOException;
  }

  /**
   * Reads layers until the disk went to the sink, or until it is known that it can be read in
   * chunks; {@link DiskLocation.Streamed} then means the former. If this fails, what the sink was
   * given is to be thrown away.
   */
  public DiskLocation stream(DiskSink sink, Kept kept, Progress progress) throws IOException {
    while (true) {
      if (passed != null
          && search() instanceof Search.Found(Overlay.Disk disk)
          && passed.equals(new Passed(disk.layer(), disk.entry()))) {
        return streamed(passed.layer);
      }
      switch (locate()) {
        case DiskLocation.Chunked chunked -> {
          return chunked;
        }
        case DiskLocation.Streamed streamed -> kept.keep(read(streamed, sink, progress));
      }
    }
  }

  private LayerIndex read(DiskLocation.Streamed streamed, DiskSink sink, Progress progress)
      throws IOException {
    int position = streamed.position();
    LayerFormat format = LayerFormat.of(manifest, position);
    if (format == LayerFormat.BARE && streamed.layer().size() > maxBytes) {
      throw new BadImageException(
          "the disk has " + streamed.layer().size() + " bytes, more than the limit of " + maxBytes);
    }
    List<Digest> ids = diffIds();
    var pass = new LayerPass(streamed.layer(), format, maxBytes, choice(position), sink);
    LayerPass.Result result =
        pass.run(
            new Counted(source.open(streamed.layer()), streamed.layer(), progress),
            ids.isEmpty() ? null : ids.get(position));
    if (result.passed() >= 0) {
      passed = new Passed(position, result.passed());
    }
    known[position] = new KnownLayer.ByIndex(result.index());
    return result.index();
  }

  /** If it is known which entry is the disk, that one; else what may be it. */
  private LayerPass.Choice choice(int position) throws IOException {
    if (known[position] != null) {
      return search() instanceof Search.Found(Overlay.Disk disk)
          ? (entry, _) -> entry == disk.entry() ? disk.name() : null
          : (_, _) -> null;
    }
    if (overlay(position).showsAny()) {
      return (_, _) -> null;
    }
    var candidate = new AtomicReference<String>();
    var tries = new AtomicInteger();
    return (_, file) -> {
      if (candidate.get() == null
          && isDirectlyInDisk(file.name())
          && tries.getAndIncrement() < MAX_TRIES
          && isVisible(position, file)) {
        candidate.set(file.name());
      }
      return file.name().equals(candidate.get()) ? file.name() : null;
    };
  }

  private static boolean isDirectlyInDisk(String name) {
    String directory = Overlay.DIRECTORY + "/";
    return name.startsWith(directory)
        && name.indexOf('/', directory.length()) < 0
        && !name.startsWith(directory + ".wh.");
  }

  /** Whether no layer above hides or replaces it. */
  private boolean isVisible(int position, TarEntry file) throws BadImageException {
    var overlay = new Overlay();
    overlay.add(position, List.of(file));
    for (int i = position + 1; i < known.length; i++) {
      @Nullable KnownLayer layer = known[i];
      if (layer != null) {
        overlay.add(i, layer.entries());
      }
    }
    return overlay.shows(file.name(), position);
  }
}
