package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.Packing;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** What the blob of a layer is. */
enum LayerFormat {
  /** The disk itself, as {@code oras push} makes it; only if it is all there is. */
  BARE,
  TAR,
  GZIP,
  ZSTD;

  private static final Pattern DISK_TYPE =
      Pattern.compile("application/octet-stream|application/vnd\\.[a-z0-9.+-]*qcow2[a-z0-9.+-]*");
  private static final Pattern DISK_TITLE = Pattern.compile("[^/\\\\]*\\.(qcow2|raw|img)");

  static LayerFormat of(Manifest manifest, int position) throws BadImageException {
    List<Descriptor> layers = manifest.layers();
    Descriptor layer = layers.get(position);
    if (layers.size() == 1 && isDisk(layer)) {
      return BARE;
    }
    return switch (Packing.of(layer)) {
      case NONE -> TAR;
      case GZIP -> GZIP;
      case ZSTD -> ZSTD;
    };
  }

  /** A title decides over the type: {@code oras push} calls any file a tar. */
  private static boolean isDisk(Descriptor layer) {
    String type = layer.mediaType().toLowerCase(Locale.ROOT);
    boolean packed = type.endsWith("gzip") || type.endsWith("zstd");
    return DISK_TYPE.matcher(type).matches() || (isTitled(layer) && !packed);
  }

  private static boolean isTitled(Descriptor layer) {
    return DISK_TITLE.matcher(layer.annotations().getOrDefault(Descriptor.TITLE, "")).matches();
  }

  /** What a bare disk is called, as if it were in a tar. */
  static String bareName(Descriptor layer) {
    return "disk/"
        + (isTitled(layer) ? layer.annotations().getOrDefault(Descriptor.TITLE, "") : "disk");
  }
}
