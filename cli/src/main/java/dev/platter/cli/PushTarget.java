package dev.platter.cli;

import dev.platter.image.Digest;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.NewImage;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.seekable.WrittenLayer;
import dev.platter.node.Progress;
import dev.platter.registry.Reference;
import dev.platter.registry.RegistryPush;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;

/** Where a disk is pushed to. */
sealed interface PushTarget {

  /** Packs the disk, once. */
  interface Packing {
    WrittenLayer writeTo(OutputStream out) throws IOException;
  }

  /**
   * @param index what the tag names, if that is not the image alone
   * @param sent bytes of the layer that a registry had to be sent
   */
  record Pushed(NewImage image, WrittenLayer layer, Optional<Digest> index, OptionalLong sent) {}

  /**
   * @param append whether the images for other platforms that the tag names stay
   */
  Pushed push(Packing packing, Platform platform, boolean append) throws IOException;

  /**
   * The layer goes into a file first: its digest has to be known before the registry can be asked
   * whether it has it.
   */
  record Registry(RegistryPush push, Reference reference, Path workDirectory, Progress progress)
      implements PushTarget {
    @Override
    public Pushed push(Packing packing, Platform platform, boolean append) throws IOException {
      try (var file = LayerFile.in(workDirectory)) {
        var layer = packing.writeTo(file.out());
        var image = new NewImage(platform, layer.layer());
        push.blobs(
            image,
            offset -> file.open(offset, at -> progress.bytes("send", at, layer.size())),
            (blob, bytes) -> {
              if (blob.digest().equals(layer.digest())) {
                progress.bytes("send", bytes, layer.size());
              }
            });
        var tag = String.valueOf(reference.tag());
        if (append) {
          var index = push.append(image, tag);
          return new Pushed(
              image, layer, Optional.of(index.digest()), OptionalLong.of(file.taken()));
        }
        push.manifest(image.manifest(), tag);
        return new Pushed(image, layer, Optional.empty(), OptionalLong.of(file.taken()));
      }
    }
  }

  /** The layer goes straight to its place. */
  record Layout(Path directory, String tag) implements PushTarget {
    @Override
    public Pushed push(Packing packing, Platform platform, boolean append) throws IOException {
      var writer = new OciLayoutWriter(directory);
      var written = new AtomicReference<WrittenLayer>();
      Layer.Content content =
          out -> {
            var layer = packing.writeTo(out);
            written.set(layer);
            return layer.layer();
          };
      var named =
          append ? writer.append(tag, platform, content) : writer.add(tag, platform, content);
      var layer = written.get();
      var image = new NewImage(platform, layer.layer());
      return new Pushed(
          image,
          layer,
          append ? Optional.of(named.digest()) : Optional.empty(),
          OptionalLong.empty());
    }
  }
}
