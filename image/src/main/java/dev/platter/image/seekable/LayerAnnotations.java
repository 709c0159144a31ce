package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.oci.Descriptor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a manifest says about a layer that can be read in pieces. The digest of the table of
 * contents is the one annotation that trust hangs on, and every writer of eStargz sets it. Ours
 * save a request or tell what to expect; without them the layer works as well.
 */
public final class LayerAnnotations {
  static final String TOC_DIGEST = "containerd.io/snapshot/stargz/toc.digest";
  static final String UNCOMPRESSED_SIZE = "io.containers.estargz.uncompressed-size";
  static final String FORMAT = "dev.platter.disk.format";
  static final String VIRTUAL_SIZE = "dev.platter.disk.virtual-size";
  static final String CHUNK_SIZE = "dev.platter.chunk-size";
  static final String TOC_OFFSET = "dev.platter.toc.offset";
  static final String TOC_LENGTH = "dev.platter.toc.length";
  static final String BOOT_PREFIX = "dev.platter.boot-prefix";
  static final String BOOT_TRACE = "dev.platter.boot-trace.digest";

  /** As containers/storage has them now, and as it had them before. */
  private static final List<String> ZSTD_CHUNKED =
      List.of("io.github.containers.zstd-chunked.", "io.containers.zstd-chunked.");

  private LayerAnnotations() {}

  static Map<String, String> of(WrittenLayer layer) {
    Map<String, String> annotations = new HashMap<>();
    annotations.put(TOC_DIGEST, layer.tocDigest().toString());
    annotations.put(UNCOMPRESSED_SIZE, Long.toString(layer.uncompressedSize()));
    annotations.put(FORMAT, "qcow2");
    annotations.put(VIRTUAL_SIZE, Long.toString(layer.virtualSize()));
    annotations.put(CHUNK_SIZE, Integer.toString(layer.chunkSize()));
    annotations.put(TOC_OFFSET, Long.toString(layer.toc().offset()));
    annotations.put(TOC_LENGTH, Integer.toString(layer.toc().length()));
    annotations.put(BOOT_PREFIX, Long.toString(layer.bootPrefix()));
    if (layer.bootTrace() != null) {
      annotations.put(BOOT_TRACE, layer.bootTrace().toString());
    }
    return annotations;
  }

  /** The digest of the table of contents; without one, a layer cannot be read in pieces. */
  public static Optional<Digest> tocDigest(Descriptor layer) throws BadImageException {
    String text = layer.annotations().get(TOC_DIGEST);
    return text == null ? Optional.empty() : Optional.of(Digest.parse(text));
  }

  /** Where the table of contents is; if empty, the footer tells. */
  public static Optional<TocPosition> tocPosition(Descriptor layer) throws BadImageException {
    OptionalLong offset = number(layer, TOC_OFFSET);
    OptionalLong length = number(layer, TOC_LENGTH);
    if (offset.isEmpty() || length.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        TocPosition.of(offset.getAsLong(), length.getAsLong(), layer.size(), "the manifest"));
  }

  /**
   * Where a layer that was packed as zstd:chunked has its table of contents. Its footer says the
   * same, but every writer of a checksum writes the position too.
   */
  public static Optional<ZstdToc> zstdToc(Descriptor layer) throws BadImageException {
    for (String prefix : ZSTD_CHUNKED) {
      String checksum = layer.annotations().get(prefix + "manifest-checksum");
      String position = layer.annotations().get(prefix + "manifest-position");
      if (checksum != null && position != null) {
        return Optional.of(ZstdToc.parse(position, Digest.parse(checksum), layer.size()));
      }
    }
    return Optional.empty();
  }

  /** How much of the front of the layer a booting guest wants. */
  public static OptionalLong bootPrefix(Descriptor layer) throws BadImageException {
    OptionalLong prefix = number(layer, BOOT_PREFIX);
    if (prefix.isPresent() && prefix.getAsLong() > layer.size()) {
      throw new BadImageException(
          "the manifest's %s is %d, the layer has %d bytes"
              .formatted(BOOT_PREFIX, prefix.getAsLong(), layer.size()));
    }
    return prefix;
  }

  /**
   * The boot trace that ordered the layer. Tells whether a newer one would order it better, and
   * nothing else: nobody checks that the layer really has that order.
   */
  public static Optional<Digest> bootTrace(Descriptor layer) throws BadImageException {
    String text = layer.annotations().get(BOOT_TRACE);
    return text == null ? Optional.empty() : Optional.of(Digest.parse(text));
  }

  /** The size of the disk, which the disk's own header has to confirm. */
  public static OptionalLong virtualSize(Descriptor layer) throws BadImageException {
    return number(layer, VIRTUAL_SIZE);
  }

  private static OptionalLong number(Descriptor layer, String key) throws BadImageException {
    String text = layer.annotations().get(key);
    if (text == null) {
      return OptionalLong.empty();
    }
    if (text.isEmpty() || text.length() > 18 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw new BadImageException(
          "the manifest's " + key + " is '" + Printable.of(text) + "', not a number of bytes");
    }
    return OptionalLong.of(Long.parseLong(text));
  }
}
