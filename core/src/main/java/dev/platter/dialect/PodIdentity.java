package dev.platter.dialect;

import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySpec;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which identity a pod's root disk is: the one of the pod's name, or of the name that an annotation
 * gives. It is made from the set that the pod names, unless there is one already: that stays what
 * it is, whatever becomes of the set.
 */
final class PodIdentity {
  static final String SET = "VirtletVMIdentitySet";
  static final String NAME = "VirtletVMIdentityName";

  private final Fields annotations;
  private final Objects given;
  private final String namespace;

  PodIdentity(Fields annotations, String namespace, Objects given) {
    this.annotations = annotations;
    this.namespace = namespace;
    this.given = given;
  }

  /**
   * @param image of the pod
   * @return null if the pod has none, or none that it can have
   */
  @Nullable Identity of(String pod, String image, Fields container) {
    var set = name(SET);
    var named = name(NAME);
    if (set == null) {
      if (named != null) {
        annotations.problem(NAME, "needs " + SET + ", which says what the identity is made from");
      }
      return null;
    }
    var identity = find(set, new IdentityKey(namespace, named == null ? pod : named));
    if (identity != null && !identity.spec().image().equals(image)) {
      container.problem(
          "image",
          "is not that of the identity %s of the set %s; write %s"
              .formatted(identity.key().name(), set, identity.spec().image()));
      return null;
    }
    return identity;
  }

  private @Nullable String name(String annotation) {
    return annotations.<String>parsed(
        annotation,
        text -> {
          if (!Names.valid(text) || Names.tooLong(namespace, text)) {
            throw new IllegalArgumentException(Names.complaint(text));
          }
          return text;
        });
  }

  private @Nullable Identity find(String set, IdentityKey key) {
    var there = given.identities().identities().get(key);
    if (there != null && there.set() != null && !there.set().equals(set)) {
      annotations.problem(SET, "the identity %s is of the set %s".formatted(key, there.set()));
      return null;
    }
    if (there != null) {
      return there;
    }
    var found = given.identities().sets().get(new IdentityKey(namespace, set));
    if (found == null) {
      annotations.problem(
          SET,
          "there is no VirtletVMIdentitySet %s in the namespace %s, and no VirtletVMIdentity %s"
              .formatted(set, namespace, key.name()));
      return null;
    }
    return new Identity(key, null, set, found.spec());
  }

  /** Reports what a pod says that its identity has said already. */
  void refuse(IdentitySpec spec, String pod, @Nullable UUID systemUuid) {
    var uuid = spec.uuidOf(pod);
    if (systemUuid != null && uuid != null && !uuid.equals(systemUuid)) {
      annotations.problem(
          PodAnnotations.SYSTEM_UUID, "the firmwareUUID of the identity makes it " + uuid);
    }
    if (annotations.has(PodAnnotations.ROOT_SIZE)) {
      annotations.problem(
          PodAnnotations.ROOT_SIZE, "the root disk is an identity's; give its size in " + SET);
    }
    if (annotations.has(RootFiles.ANNOTATION)) {
      annotations.problem(
          RootFiles.ANNOTATION,
          "files are written when a root disk is made, and an identity's is made before its pod");
    }
  }
}
