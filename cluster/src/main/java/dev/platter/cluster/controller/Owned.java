package dev.platter.cluster.controller;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;

/** Objects that go with the one that they were made for, whatever becomes of us. */
final class Owned {
  private Owned() {}

  static ObjectMetaBuilder metadata(HasMetadata owner, String name) {
    return new ObjectMetaBuilder()
        .withName(name)
        .withNamespace(owner.getMetadata().getNamespace())
        .withOwnerReferences(
            new OwnerReferenceBuilder()
                .withApiVersion(owner.getApiVersion())
                .withKind(owner.getKind())
                .withName(owner.getMetadata().getName())
                .withUid(owner.getMetadata().getUid())
                .withController(true)
                .build());
  }

  static boolean by(HasMetadata owner, HasMetadata object) {
    return object.getMetadata().getOwnerReferences().stream()
        .anyMatch(reference -> reference.getUid().equals(owner.getMetadata().getUid()));
  }

  static boolean ends(HasMetadata object) {
    return object.getMetadata().getDeletionTimestamp() != null;
  }

  static String key(HasMetadata object) {
    return object.getMetadata().getNamespace() + "/" + object.getMetadata().getName();
  }
}
