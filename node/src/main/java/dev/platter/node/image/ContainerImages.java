package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.ContainerConfig;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.LayerStream;
import dev.platter.image.rootfs.RootLayer;
import dev.platter.model.ImageLogins;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.ContainerImage;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The container images that VMs run. Each layer is one directory, known by the digest of all layers
 * up to it: images that begin with the same layers share them.
 *
 * <p>A layer is made under another name, and gets its own by rename when its files are on the disk
 * and its tar had the digest that the config says. What a process that died left of one is removed
 * by who makes the next.
 */
public final class ContainerImages {
  private static final Duration PATIENCE = Duration.ofHours(1);
  private static final String ADVICE =
      "An image that a VM runs is one for linux/amd64, as 'docker build' makes it.";

  private final StateLayout layout;
  private final ImageSources sources;

  public ContainerImages(StateLayout layout, ImageSources sources) {
    this.layout = layout;
    this.sources = sources;
  }

  /** What the reference means now. Nothing is stored. */
  public ContainerImage resolve(String reference, ImageLogins logins) {
    return ImageErrors.explained(
        reference,
        ADVICE,
        () -> {
          var found = sources.find(reference, logins);
          var image = found.resolve(Images.BytesDone.NOBODY);
          var config = ContainerConfig.read(found.source(), image.manifest());
          return new ContainerImage(
              image.descriptor().digest().toString(),
              chains(config.diffIds()),
              new ContainerImage.Run(
                  config.entrypoint(),
                  config.command(),
                  config.env(),
                  config.user(),
                  config.directory(),
                  config.stopSignal()));
        });
  }

  /** As the image specification has it: the first is its own, each other one is of all below. */
  private static List<String> chains(List<Digest> diffIds) {
    var chains = new ArrayList<String>();
    for (var diffId : diffIds) {
      var text = chains.isEmpty() ? "" : chains.getLast() + " " + diffId;
      chains.add(
          chains.isEmpty()
              ? diffId.toString()
              : Digest.of(text.getBytes(StandardCharsets.UTF_8)).toString());
    }
    return chains;
  }

  /** Makes the layers that are missing. */
  public void ensure(Step.EnsureLayers step, ImageLogins logins, Images.BytesDone progress)
      throws IOException {
    var chains = step.image().layers();
    if (present(chains) == chains.size()) {
      return;
    }
    ImageErrors.explained(
        step.reference(),
        ADVICE,
        () -> {
          try (var _ = lock()) {
            Durable.makeDirectories(layout.layers());
            Durable.deleteTree(layout.unfinishedLayer());
            make(step, logins, progress);
          }
          return true;
        });
  }

  /** How many layers are here. One is never here without those below. */
  private int present(List<String> chains) {
    var present = chains.size();
    while (present > 0 && !Files.isDirectory(layout.layer(chains.get(present - 1)))) {
      present--;
    }
    return present;
  }

  private void make(Step.EnsureLayers step, ImageLogins logins, Images.BytesDone progress)
      throws IOException {
    var chains = step.image().layers();
    var found = sources.find(step.reference(), logins);
    var manifest = found.source().resolve(step.image().digest()).manifest();
    var config = ContainerConfig.read(found.source(), manifest);
    if (!chains(config.diffIds()).equals(chains)) {
      throw new BadImageException("it has other layers than before");
    }
    var total = manifest.layers().stream().mapToLong(Descriptor::size).sum();
    var done = 0L;
    for (var i = 0; i < chains.size(); i++) {
      progress.bytes("layers", done, total);
      var layer = manifest.layers().get(i);
      var directory = layout.layer(chains.get(i));
      if (!Files.isDirectory(directory)) {
        var below = i == 0 ? null : layout.layer(chains.get(i - 1));
        make(directory, below, found.source(), layer, config.diffIds().get(i));
      }
      done += layer.size();
    }
    progress.bytes("layers", done, total);
  }

  private void make(
      Path directory, @Nullable Path below, BlobSource source, Descriptor layer, Digest diffId)
      throws IOException {
    var unfinished = layout.unfinishedLayer();
    Durable.makeDirectory(unfinished);
    try {
      try (var tar = LayerStream.open(layer, source.open(layer), RootLayer.DISK_SIZE)) {
        RootLayer.make(unfinished, below, tar);
        tar.finish(diffId);
      }
      Durable.syncDirectory(unfinished);
      Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
      Durable.syncDirectory(layout.layers());
    } finally {
      Durable.deleteTree(unfinished);
    }
  }

  /** Removes the layers that nobody uses, and what is left of one that was not finished. */
  public void collect(Users users) throws IOException {
    if (!Files.isDirectory(layout.layers())) {
      return;
    }
    try (var _ = lock();
        var directories = Files.list(layout.layers())) {
      var used = users.layers();
      for (var directory : directories.toList()) {
        if (!used.contains(directory)) {
          Durable.deleteTree(directory);
        }
      }
    }
  }

  /** Who needs layers. A plan is published before its layers are looked for. */
  public interface Users {
    /** The directories of all layers that plans name. */
    Set<Path> layers() throws IOException;
  }

  private FileMutex lock() throws IOException {
    return FileMutex.take(layout.layersLock(), "the layers of container images", PATIENCE);
  }
}
