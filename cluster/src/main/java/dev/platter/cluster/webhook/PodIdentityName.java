package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import java.util.Optional;
import java.util.regex.Pattern;

/** Which identity a pod has, by its own word: the one of its name, unless an annotation says. */
final class PodIdentityName {
  /** It is a label too. */
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?");

  private PodIdentityName() {}

  static Optional<String> of(ObjectNode metadata) {
    var annotations = Json.object(metadata, "annotations");
    if (!annotations.has(Names.IDENTITY_SET)) {
      if (annotations.has(Names.IDENTITY_NAME)) {
        throw Json.refused(
            "the annotation %s needs %s, which says what the identity is made from"
                .formatted(Names.IDENTITY_NAME, Names.IDENTITY_SET));
      }
      return Optional.empty();
    }
    var name = Json.text(annotations, Names.IDENTITY_NAME, Json.text(metadata, "name", ""));
    if (name.isEmpty()) {
      throw Json.refused(
          "a pod whose name is made up anew each time has no identity of its own; use a StatefulSet,"
              + " or the annotation "
              + Names.IDENTITY_NAME);
    }
    if (!NAME.matcher(name).matches()
        || !NAME.matcher(Json.text(annotations, Names.IDENTITY_SET, "")).matches()) {
      throw Json.refused(
          "the names of an identity and its set are DNS names of 63 characters at most");
    }
    return Optional.of(name);
  }
}
