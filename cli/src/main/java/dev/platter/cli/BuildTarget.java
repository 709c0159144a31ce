package dev.platter.cli;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.ImageOnTop;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.node.Progress;
import dev.platter.registry.BlobContent;
import dev.platter.registry.RegistryPush;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Where an image goes that has disks on top of another. */
sealed interface BuildTarget {
  /** For the history of the image. */
  String BY = "platter build";

  /**
   * The image below, and where it is.
   *
   * @param source has all its blobs
   */
  record Below(BlobSource source, Manifest manifest) {}

  /**
   * @return the manifest
   */
  Descriptor put(Below below, List<Layer.Content> disks) throws IOException;

  /** In a layout on this machine. */
  record Layout(Path directory, String tag) implements BuildTarget {
    @Override
    public Descriptor put(Below below, List<Layer.Content> disks) throws IOException {
      return new OciLayoutWriter(directory)
          .addOnTop(tag, below.source(), below.manifest(), disks, BY);
    }
  }

  /** As {@link PushTarget.Registry}: packed layers lie in files until they are sent. */
  record Registry(RegistryPush push, String tag, Path workDirectory, Progress progress)
      implements BuildTarget {
    @Override
    public Descriptor put(Below below, List<Layer.Content> disks) throws IOException {
      List<LayerFile> files = new ArrayList<>();
      try {
        List<Layer> layers = new ArrayList<>();
        List<BlobContent> blobs = new ArrayList<>();
        for (var disk : disks) {
          var file = LayerFile.in(workDirectory);
          files.add(file);
          var layer = disk.writeTo(file.out());
          layers.add(layer);
          blobs.add(new BlobContent(layer.descriptor(), offset -> file.open(offset, _ -> {})));
        }
        var image = ImageOnTop.of(below.source(), below.manifest(), layers, BY);
        for (var layer : image.layersBelow()) {
          blobs.add(new BlobContent(layer, offset -> rest(below.source(), layer, offset)));
        }
        blobs.add(BlobContent.of(image.configDescriptor(), image.config()));
        push.blobs(blobs, (blob, bytes) -> progress.bytes("send", bytes, blob.size()));
        return push.manifest(image.manifest(), tag);
      } finally {
        for (var file : files) {
          file.close();
        }
      }
    }

    /** Not verified here: the registry does not take a blob that has another digest. */
    private static InputStream rest(BlobSource source, Descriptor layer, long offset)
        throws IOException {
      return offset == layer.size()
          ? InputStream.nullInputStream()
          : source.open(layer, offset, layer.size() - offset);
    }
  }
}
