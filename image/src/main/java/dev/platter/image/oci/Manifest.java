package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.image.BadImageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One image or artifact: its configuration and its layers, lowest first. */
public record Manifest(
    String mediaType, Descriptor config, List<Descriptor> layers, Map<String, String> annotations)
    implements Document {

  public Manifest {
    layers = List.copyOf(layers);
    annotations = Map.copyOf(annotations);
  }

  static Manifest parse(JsonNode json) throws BadImageException {
    String what = "the manifest";
    @Nullable String mediaType = Json.text(json, "mediaType", what);
    Document.requireMediaType(mediaType, MediaTypes.MANIFESTS, what);
    Descriptor config =
        Descriptor.parse(Json.requireObject(json, "config", what), "the manifest's config");
    List<Descriptor> layers = new ArrayList<>();
    for (JsonNode layer : Json.requireArray(json, "layers", what)) {
      layers.add(Descriptor.parse(layer, "layer " + (layers.size() + 1) + " of the manifest"));
    }
    return new Manifest(
        mediaType == null ? MediaTypes.OCI_MANIFEST : mediaType,
        config,
        layers,
        Json.strings(json, "annotations", what));
  }
}
