package dev.platter.bench;

import dev.platter.image.BootTrace;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.PackProgress;
import dev.platter.image.seekable.SeekableLayerWriter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * An image in a registry.
 *
 * @param name without the registry, which may be reached by several addresses
 * @param digest of its manifest
 */
record PushedImage(String name, String digest) {
  /** How to name it at the registry's address or at that of a link to it. */
  String at(String address) {
    return address + "/" + name;
  }

  /** As `platter push` packs it. */
  static PushedImage seekable(
      Path work, String registry, String name, Path raw, @Nullable BootTrace trace)
      throws Exception {
    try (var disk = RawDisk.open(raw)) {
      return push(
          work,
          registry,
          name,
          out ->
              new SeekableLayerWriter(Runtime.getRuntime().availableProcessors())
                  .write(out, name, disk, trace, PackProgress.NONE)
                  .layer());
    }
  }

  /** Sent by skopeo, which changes nothing. */
  static PushedImage push(Path work, String registry, String name, Layer.Content layer)
      throws Exception {
    var layout = work.resolve("layout-" + name);
    var manifest = new OciLayoutWriter(layout).add(name, Platform.LINUX_AMD64, layer);
    var image = new PushedImage("disks/" + name + ":1", manifest.digest().toString());
    Tool.time(
        "skopeo",
        "copy",
        "-q",
        "--preserve-digests",
        "--dest-tls-verify=false",
        "oci:" + layout + ":" + name,
        "docker://" + image.at(registry));
    Tool.cleanUp("rm", "-r", layout.toString());
    return image;
  }
}
