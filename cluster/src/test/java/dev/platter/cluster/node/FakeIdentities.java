package dev.platter.cluster.node;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.IdentityKey;
import dev.platter.node.move.MoveSource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An API server in memory with one identity, that refuses what is not about its latest version. The
 * node that it is known to is the only one.
 */
final class FakeIdentities implements IdentityKeeper.Objects, IdentityMover.Peers {
  static final IdentityKey PET = new IdentityKey("default", "pet");

  /** What happens before the server does what it is asked, and may be a refusal. */
  volatile Runnable beforeStatus = () -> {};

  volatile Runnable beforeFinalizers = () -> {};
  volatile Runnable beforeNow = () -> {};
  volatile Runnable beforeNodes = () -> {};

  private @Nullable VmIdentity object;
  private boolean behind;
  private int version;
  private int asked;
  private int written;

  /** With a disk to be made on a node. */
  void make(String uid, String node) {
    var made = new VmIdentity();
    made.setMetadata(
        new ObjectMetaBuilder().withNamespace("default").withName("pet").withUid(uid).build());
    made.setSpec(
        JsonNodeFactory.instance
            .objectNode()
            .put("image", "disks/a@sha256:" + "1".repeat(64))
            .put("nodeName", node));
    change(made);
  }

  /** By somebody. */
  synchronized VmIdentity change(VmIdentity changed) {
    object = Serialization.clone(changed);
    object.getMetadata().setResourceVersion(String.valueOf(++version));
    return object;
  }

  synchronized VmIdentity now() {
    return Optional.ofNullable(object).orElseThrow();
  }

  synchronized boolean isReady() {
    return object != null && IdentityStatus.of(object).ready();
  }

  synchronized void vanish() {
    object = null;
  }

  /** From now on nothing is known of it but to who asks. */
  synchronized void fallBehind() {
    behind = true;
  }

  /** How often it was asked how an identity is now. */
  synchronized int asked() {
    return asked;
  }

  /** How many changes it was asked for. */
  synchronized int written() {
    return written;
  }

  static KubernetesClientException refusal(int code) {
    return new KubernetesClientException("HTTP " + code, code, null);
  }

  @Override
  public synchronized Optional<VmIdentity> identity(IdentityKey key) {
    return behind ? Optional.empty() : Optional.ofNullable(object);
  }

  @Override
  public Optional<VmIdentity> identityNow(IdentityKey key) {
    beforeNow.run();
    synchronized (this) {
      asked++;
      return Optional.ofNullable(object);
    }
  }

  @Override
  public Collection<String> nodes() {
    beforeNodes.run();
    return List.of("one");
  }

  private VmIdentity latest(VmIdentity identity) {
    written++;
    if (object == null) {
      throw refusal(404);
    }
    if (!identity
        .getMetadata()
        .getResourceVersion()
        .equals(object.getMetadata().getResourceVersion())) {
      throw refusal(409);
    }
    return object;
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    beforeStatus.run();
    synchronized (this) {
      change(latest(identity)).setStatus(status);
    }
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    beforeFinalizers.run();
    synchronized (this) {
      change(latest(identity)).getMetadata().setFinalizers(finalizers);
    }
  }

  @Override
  public Optional<MoveSource> source(String other) {
    return Optional.empty();
  }

  @Override
  public Optional<String> nodeOf(String fingerprint) {
    return Optional.empty();
  }
}
