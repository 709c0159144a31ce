package dev.platter.node.image;

import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Where images were had from that somebody's own login was needed for. Such an image is for those
 * only who are let in to one of these places: whoever knows no more than its digest, or the digests
 * of its layers, gets nothing of it.
 *
 * <p>Noted before an image's record is shown, so one that is seen without a note is everybody's.
 */
final class ImagePlaces {
  private final StateLayout layout;

  ImagePlaces(StateLayout layout) {
    this.layout = layout;
  }

  /** Empty if the image is everybody's. */
  Set<String> of(String digest) throws IOException {
    try {
      return new LinkedHashSet<>(Files.readAllLines(layout.imagePlaces(digest)));
    } catch (NoSuchFileException e) {
      return Set.of();
    }
  }

  boolean isOpenTo(String place, String digest) throws IOException {
    var places = of(digest);
    return places.isEmpty() || places.contains(place);
  }

  synchronized void add(String digest, String place) throws IOException {
    var places = new LinkedHashSet<>(of(digest));
    places.add(place);
    Durable.publish(layout.imagePlaces(digest), String.join("\n", places));
  }
}
