package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Gets the one disk file out of an image, in one pass over as few layers as possible and without
 * ever holding more than some buffers of it.
 *
 * <p>Two shapes are known: a container image with the disk under {@code /disk} (see {@link
 * DiskFinder} for which layer counts), and a bare artifact whose only layer is the disk itself, as
 * {@code oras push} makes it.
 */
public final class DiskImage {
  /** What a layer may unpack to if the caller does not say: stops a gzip bomb, fits real disks. */
  public static final long MAX_BYTES = 1L << 40;

  private static final Pattern DISK_TYPE =
      Pattern.compile("application/octet-stream|application/vnd\\.[a-z0-9.+-]*qcow2[a-z0-9.+-]*");
  private static final Pattern DISK_TITLE = Pattern.compile("[^/\\\\]*\\.(qcow2|raw|img)");

  private final BlobSource source;
  private final Progress progress;
  private final long maxBytes;

  private DiskImage(BlobSource source, Progress progress, long maxBytes) {
    this.source = source;
    this.progress = progress;
    this.maxBytes = maxBytes;
  }

  public static ExtractedDisk extract(
      BlobSource source, Manifest manifest, Path spoolDirectory, Progress progress)
      throws IOException {
    return extract(source, manifest, spoolDirectory, progress, MAX_BYTES);
  }

  /**
   * Leaves exactly one new file in {@code spoolDirectory}, the disk, or throws and leaves none.
   *
   * @param maxBytes the most that a layer may unpack to
   */
  public static ExtractedDisk extract(
      BlobSource source, Manifest manifest, Path spoolDirectory, Progress progress, long maxBytes)
      throws IOException {
    var image = new DiskImage(source, progress, maxBytes);
    try (Spool spool = Spool.in(spoolDirectory)) {
      List<Descriptor> layers = manifest.layers();
      if (layers.size() == 1 && isDisk(layers.getFirst())) {
        return image.bare(layers.getFirst(), spool);
      }
      return image.packed(manifest, spool);
    }
  }

  /** A title decides over the type: {@code oras push} calls any file a tar. */
  private static boolean isDisk(Descriptor layer) {
    String type = layer.mediaType().toLowerCase(Locale.ROOT);
    boolean titled = DISK_TITLE.matcher(title(layer)).matches();
    boolean packed = type.endsWith("gzip") || type.endsWith("zstd");
    return DISK_TYPE.matcher(type).matches() || (titled && !packed);
  }

  private static String title(Descriptor layer) {
    return layer.annotations().getOrDefault(Descriptor.TITLE, "");
  }

  private ExtractedDisk bare(Descriptor layer, Spool spool) throws IOException {
    if (layer.size() > maxBytes) {
      throw new BadImageException(
          "the disk has " + layer.size() + " bytes, more than the limit of " + maxBytes);
    }
    try (InputStream in = open(layer)) {
      spool.fill(in);
    }
    return spool.keep(DISK_TITLE.matcher(title(layer)).matches() ? title(layer) : "disk");
  }

  private ExtractedDisk packed(Manifest manifest, Spool spool) throws IOException {
    List<Descriptor> layers = manifest.layers();
    List<Digest> diffIds = diffIds(manifest);
    var finder = new DiskFinder();
    for (int i = layers.size() - 1; i >= 0 && !finder.hidesAllBelow(); i--) {
      @Nullable Digest diffId = diffIds.isEmpty() ? null : diffIds.get(i);
      @Nullable String name = search(layers.get(i), diffId, finder, spool);
      if (name != null) {
        return spool.keep(name);
      }
    }
    throw new BadImageException(
        "the image has no file in /disk: it is not a disk image, or was built with another path");
  }

  /** Empty for an artifact, which has no configuration that could name them. */
  private List<Digest> diffIds(Manifest manifest) throws IOException {
    Descriptor config = manifest.config();
    if (!MediaTypes.CONFIGS.contains(config.mediaType())) {
      return List.of();
    }
    List<Digest> diffIds;
    try (InputStream in = source.open(config)) {
      diffIds =
          ImageConfig.parse(VerifyingInputStream.readAll(in, config, Json.MAX_BYTES)).diffIds();
    }
    if (diffIds.size() != manifest.layers().size()) {
      throw new BadImageException(
          "the image has "
              + manifest.layers().size()
              + " layers but its config names "
              + diffIds.size());
    }
    return diffIds;
  }

  private @Nullable String search(
      Descriptor layer, @Nullable Digest diffId, DiskFinder finder, Spool spool)
      throws IOException {
    try (var tar = LayerStream.open(layer, open(layer), maxBytes)) {
      @Nullable String name = search(tar, finder, spool);
      tar.finish(diffId);
      return name;
    }
  }

  static @Nullable String search(InputStream tar, DiskFinder finder, Spool spool)
      throws IOException {
    var reader = new TarReader(tar);
    for (TarEntry entry; (entry = reader.next()) != null; ) {
      if (finder.see(entry)) {
        spool.fill(reader.content());
      }
    }
    return finder.endLayer();
  }

  private InputStream open(Descriptor layer) throws IOException {
    return new FilterInputStream(source.open(layer)) {
      private long count;

      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] buffer, int start, int length) throws IOException {
        int read = super.read(buffer, start, length);
        if (read > 0) {
          count += read;
          progress.read(layer, count);
        }
        return read;
      }
    };
  }
}
