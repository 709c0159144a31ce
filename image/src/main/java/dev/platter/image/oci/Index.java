package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** A list of images, one of which fits. */
public record Index(List<Descriptor> manifests) implements Document {

  public Index {
    manifests = List.copyOf(manifests);
  }

  static Index parse(JsonNode json) throws BadImageException {
    String what = "the index";
    Document.requireMediaType(Json.text(json, "mediaType", what), MediaTypes.INDEXES, what);
    List<Descriptor> manifests = new ArrayList<>();
    for (JsonNode entry : Json.requireArray(json, "manifests", what)) {
      manifests.add(Descriptor.parse(entry, "entry " + (manifests.size() + 1) + " of the index"));
    }
    return new Index(manifests);
  }

  /**
   * The image for {@code wanted}: the first that says so; else the only one that says nothing, as
   * disk images often do; else the only one for that architecture, whatever guest system it names.
   * Never an image for another architecture, not even if it is alone.
   */
  Descriptor select(Platform wanted) throws BadImageException {
    List<Descriptor> images = manifests.stream().filter(Index::isImage).toList();
    for (Descriptor image : images) {
      if (image.platform() != null && wanted.isRunBy(image.platform())) {
        return image;
      }
    }
    List<Descriptor> silent = images.stream().filter(image -> image.platform() == null).toList();
    if (silent.size() == 1) {
      return silent.getFirst();
    }
    List<Descriptor> sameArchitecture = images.stream().filter(runsOn(wanted)).toList();
    if (sameArchitecture.size() == 1) {
      return sameArchitecture.getFirst();
    }
    List<String> found = images.stream().map(Index::describe).limit(20).toList();
    throw new BadImageException("the index has no image for " + wanted + "; it has " + found);
  }

  /** Signatures and attestations share the list with images. */
  private static boolean isImage(Descriptor entry) {
    return (MediaTypes.MANIFESTS.contains(entry.mediaType())
            || MediaTypes.INDEXES.contains(entry.mediaType()))
        && !entry.annotations().containsKey("vnd.docker.reference.type");
  }

  private static Predicate<Descriptor> runsOn(Platform wanted) {
    return entry ->
        entry.platform() != null && entry.platform().architecture().equals(wanted.architecture());
  }

  private static String describe(Descriptor entry) {
    return entry.platform() == null ? "(none)" : Printable.of(entry.platform().toString());
  }
}
