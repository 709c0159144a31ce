package dev.platter.node.image;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.LayerStream;
import dev.platter.image.rootfs.RootLayer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Makes a layer of a disk from the bytes of a layer of a container image. */
public interface LayerMaker {
  /** In this process, which is the image's user's own. */
  LayerMaker HERE =
      (directory, below, layer, packed, diffId) -> {
        try (var tar = LayerStream.open(layer, packed, RootLayer.DISK_SIZE)) {
          RootLayer.make(directory, below, Reserve.ofLayer(directory, layer).watched(tar));
          tar.finish(diffId);
        }
      };

  /**
   * @param directory where it is made; empty, and removed by the caller if this fails
   * @param below the directory of the layer below
   * @param packed as the registry has it
   * @param diffId what it has to unpack to
   */
  void make(
      Path directory, @Nullable Path below, Descriptor layer, InputStream packed, Digest diffId)
      throws IOException;
}
