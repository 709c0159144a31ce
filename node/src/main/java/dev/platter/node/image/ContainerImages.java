package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.ContainerConfig;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.LayerStream;
import dev.platter.image.oci.Manifest;
import dev.platter.image.rootfs.RootLayer;
import dev.platter.model.ImageLogins;
import dev.platter.node.durable.Durable;
import dev.platter.plan.ContainerImage;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
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
 * by who makes the next from the same place, or by {@link #collect}. What becomes of layers that
 * nobody uses is {@link LayerDirectories}' to say.
 *
 * <p>As other images do, a layer that somebody's own login was needed for belongs to the places
 * that it was had from ({@link ImagePlaces}). Who comes by another place has to have all of it
 * there: it is read once, and not kept.
 *
 * <p>Who waits for a registry holds the lock of that place alone.
 */
public final class ContainerImages {
  private static final String ADVICE =
      "An image that a VM runs is one for linux/amd64, as 'docker build' makes it.";

  private final StateLayout layout;
  private final ImageSources sources;
  private final LayerMaker maker;
  private final ImagePlaces places;
  private final LayerDirectories directories;

  public ContainerImages(StateLayout layout, ImageSources sources, LayerMaker maker) {
    this.layout = layout;
    this.sources = sources;
    this.maker = maker;
    this.places = ImagePlaces.ofLayers(layout);
    this.directories = new LayerDirectories(layout);
  }

  /** What the reference means now. Nothing is stored. */
  public ContainerImage resolve(String reference, ImageLogins logins) {
    return ImageErrors.explained(
        reference,
        ADVICE,
        () -> {
          var found = sources.find(reference, logins);
          var image = found.resolve(Images.BytesDone.NOBODY);
          requireSize(image.manifest());
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

  /** Packed they are no larger than what they unpack to, and that has to fit on the disk. */
  private static void requireSize(Manifest manifest) throws BadImageException {
    var left = RootLayer.DISK_SIZE;
    for (var layer : manifest.layers()) {
      if (layer.size() > left) {
        throw new BadImageException(
            "its layers have more than the limit of %d bytes".formatted(RootLayer.DISK_SIZE));
      }
      left -= layer.size();
    }
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

  /** Makes the layers that are missing. Afterwards all are there, and the caller may use them. */
  public void ensure(Step.EnsureLayers step, ImageLogins logins, Images.BytesDone progress)
      throws IOException {
    ImageErrors.explained(
        step.reference(),
        ADVICE,
        () -> {
          var found = sources.find(step.reference(), logins);
          if (!isOpen(step.image().layers(), found.place())) {
            var turn = turn(found.place());
            try (var _ = directories.take(layout.layersLock(turn))) {
              Durable.makeDirectories(layout.layers());
              Durable.deleteTree(layout.unfinishedLayer(turn));
              make(step, found, !logins.isEmpty(), progress);
            }
          }
          directories.touch(step.image().layers());
          return true;
        });
  }

  /** Who shares a place takes turns; nobody waits for a registry of somebody else. */
  private static String turn(String place) {
    return Digest.of(place.getBytes(StandardCharsets.UTF_8)).hex().substring(0, 32);
  }

  private boolean isOpen(List<String> chains, String place) throws IOException {
    try (var _ = directories.take()) {
      for (var chain : chains) {
        if (!isHere(chain) || !places.isOpenTo(place, chain)) {
          return false;
        }
      }
      return true;
    }
  }

  private boolean isHere(String chain) {
    return Files.isDirectory(layout.layer(chain));
  }

  /**
   * @param own whether the caller has logins
   */
  private void make(
      Step.EnsureLayers step, ImageSources.Located found, boolean own, Images.BytesDone progress)
      throws IOException {
    var chains = step.image().layers();
    var manifest = found.source().resolve(step.image().digest()).manifest();
    requireSize(manifest);
    var config = ContainerConfig.read(found.source(), manifest);
    if (!chains(config.diffIds()).equals(chains)) {
      throw new BadImageException("it has other layers than before");
    }
    var total = manifest.layers().stream().mapToLong(Descriptor::size).sum();
    var missing = 0L;
    for (var i = 0; i < chains.size(); i++) {
      missing += isHere(chains.get(i)) ? 0 : manifest.layers().get(i).size();
    }
    if (missing > 0) {
      new Reserve(layout.layers(), "the layers of " + step.reference()).require(missing);
    }
    var done = 0L;
    for (var i = 0; i < chains.size(); i++) {
      progress.bytes(Images.BytesDone.LAYERS, done, total);
      var layer = manifest.layers().get(i);
      var diffId = config.diffIds().get(i);
      var packed = new Packed(found, own, layer, progress, done, total);
      if (!isHere(chains.get(i))) {
        var below = i == 0 ? null : layout.layer(chains.get(i - 1));
        make(layout.layer(chains.get(i)), below, packed, diffId);
      }
      if (!places.isOpenTo(found.place(), chains.get(i))) {
        admit(chains.get(i), packed, diffId);
      }
      done += layer.size();
    }
    progress.bytes(Images.BytesDone.LAYERS, done, total);
  }

  /** A layer as a registry has it. */
  private record Packed(
      ImageSources.Located found,
      boolean own,
      Descriptor layer,
      Images.BytesDone progress,
      long before,
      long total) {
    ProgressStream open() throws IOException {
      return new ProgressStream(
          found.source().open(layer),
          done -> progress.bytes(Images.BytesDone.LAYERS, before + done, total));
    }

    /** To be asked when it was read: only then is it known whether a login was needed. */
    boolean isPrivate() {
      return own && found.loggedIn();
    }
  }

  private void make(Path directory, @Nullable Path below, Packed packed, Digest diffId)
      throws IOException {
    var unfinished = layout.unfinishedLayer(turn(packed.found().place()));
    Durable.makeDirectory(unfinished);
    try {
      maker.make(unfinished, below, packed.layer(), packed.open(), diffId);
      if (packed.isPrivate()) {
        Durable.publish(layout.layerPlaces(unfinished), packed.found().place());
      }
      Durable.syncDirectory(unfinished);
      try (var _ = directories.take()) {
        if (!Files.isDirectory(directory)) { // Who comes by another place may have been faster.
          Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
          Durable.syncDirectory(layout.layers());
        }
      }
    } finally {
      Durable.deleteTree(unfinished);
    }
  }

  /** Others had to log in for it, and elsewhere. */
  private void admit(String chain, Packed packed, Digest diffId) throws IOException {
    try (var tar = LayerStream.open(packed.layer(), packed.open(), RootLayer.DISK_SIZE)) {
      tar.finish(diffId);
    }
    try (var _ = directories.take()) {
      places.add(chain, packed.found().place());
    }
  }

  /** Removes the layers that nobody uses, and what is left of those that were not finished. */
  public void collect(Users users) throws IOException {
    directories.collect(users);
  }

  /** Who needs layers. A plan is published before its layers are looked for. */
  public interface Users {
    /** The directories of all layers that plans name. */
    Set<Path> layers() throws IOException;
  }
}
