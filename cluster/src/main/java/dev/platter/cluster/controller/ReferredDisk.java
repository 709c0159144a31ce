package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.Reason;
import org.jspecify.annotations.Nullable;

/**
 * What claims are filled from that name an object which may name another one, of another namespace.
 *
 * <p>Whether somebody may use that one is asked by the API server when the reference is written
 * (the policy {@code platter-disk-references}), and not here: here nobody knows who asked. What is
 * decided here is what may be had by a reference, each time that it matters, since the object that
 * is named can change at any time. Nothing leads further than one step: the right to use an object
 * says nothing of what that one names. No Secret leaves its namespace; nor is one of the claim's
 * namespace shown to a server that somebody of another has chosen, which a Secret of the same name
 * would be.
 *
 * @param source the object, with the disk of the one that it names
 * @param obstacle why there is no such disk to be had; null if nothing stands in the way
 */
record ReferredDisk(ClaimSource source, Way.@Nullable Wait obstacle) {
  static ReferredDisk of(ClaimSource source, Populations cluster) {
    if (!(source instanceof DiskImport wanted)) {
      return new ReferredDisk(source, null);
    }
    var reference = wanted.reference();
    if (reference == null) {
      return new ReferredDisk(source, null);
    }
    var key = new SourceKey(DiskImport.KIND, reference.namespace(), reference.name());
    if (!(cluster.source(key) instanceof DiskImport named) || Owned.ends(named)) {
      return without(wanted, Reason.NOT_FOUND, "There is no DiskImport %s.".formatted(reference));
    }
    if (named.reference() != null) {
      return without(
          wanted,
          Reason.UNSUPPORTED,
          "The DiskImport %s names another one; name that one itself.".formatted(reference));
    }
    var abroad = !reference.namespace().equals(wanted.getMetadata().getNamespace());
    if (abroad && named.needsItsNamespace()) {
      return without(
          wanted,
          Reason.UNSUPPORTED,
          "The DiskImport %s needs a Secret or a ConfigMap, which is there for pods of its own"
                  .formatted(reference)
              + " namespace only. What everybody may fetch can be used from others.");
    }
    var expected = wanted.getSpec().digest();
    var theirs = named.getSpec().digest();
    if (expected != null && theirs != null && !expected.equals(theirs)) {
      return without(
          wanted,
          Reason.REFUSED,
          "The DiskImport %s has the digest %s, and not the one that this object expects."
              .formatted(reference, theirs));
    }
    return new ReferredDisk(wanted.withDiskOf(named), null);
  }

  private static ReferredDisk without(DiskImport wanted, Reason reason, String message) {
    return new ReferredDisk(wanted, new Way.Wait(reason, message));
  }
}
