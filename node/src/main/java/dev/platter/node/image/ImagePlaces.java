package dev.platter.node.image;

import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Function;

/**
 * Where images were had from that somebody's own login was needed for. Such an image is for those
 * only who are let in to one of these places: whoever knows no more than its digest, or the digests
 * of its layers, gets nothing of it.
 *
 * <p>Noted before an image's record is shown, so one that is seen without a note is everybody's.
 */
final class ImagePlaces {
  private final Function<String, Path> files;

  private ImagePlaces(Function<String, Path> files) {
    this.files = files;
  }

  ImagePlaces(StateLayout layout) {
    this(layout::imagePlaces);
  }

  /** Of layers of container images, which are known by all layers up to them. */
  static ImagePlaces ofLayers(StateLayout layout) {
    return new ImagePlaces(chain -> layout.layerPlaces(layout.layer(chain)));
  }

  /** Empty if the image is everybody's. */
  Set<String> of(String digest) throws IOException {
    try {
      return new LinkedHashSet<>(Files.readAllLines(files.apply(digest)));
    } catch (NoSuchFileException e) {
      return Set.of();
    }
  }

  boolean isOpenTo(String place, String digest) throws IOException {
    var places = of(digest);
    return places.isEmpty() || places.contains(place);
  }

  /** The same for a name; what an image that is everybody's was once called does not matter. */
  boolean isOpenTo(ImageSources sources, String reference, String digest) throws IOException {
    var places = of(digest);
    return places.isEmpty()
        || places.contains(ImageErrors.explained(reference, () -> sources.find(reference)).place());
  }

  synchronized void add(String digest, String place) throws IOException {
    var places = new LinkedHashSet<>(of(digest));
    places.add(place);
    Durable.publish(files.apply(digest), String.join("\n", places));
  }
}
