package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.List;

/** The finalizers of an object. */
public final class Finalizers {
  private Finalizers() {}

  /** This one as well. */
  public static List<String> with(HasMetadata object, String finalizer) {
    var out = new ArrayList<>(without(object, finalizer));
    out.add(finalizer);
    return out;
  }

  /** All but this one. */
  public static List<String> without(HasMetadata object, String finalizer) {
    return object.getMetadata().getFinalizers().stream()
        .filter(name -> !name.equals(finalizer))
        .toList();
  }

  /** A merge patch; the version in it makes the server refuse it if anything changed. */
  public static String patch(HasMetadata object, List<String> finalizers) {
    var patch = JsonNodeFactory.instance.objectNode();
    var meta = patch.putObject("metadata");
    meta.put("resourceVersion", object.getMetadata().getResourceVersion());
    var list = meta.putArray("finalizers");
    finalizers.forEach(list::add);
    return patch.toString();
  }
}
