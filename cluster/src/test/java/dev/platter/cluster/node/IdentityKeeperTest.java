package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.IdentityKey;
import dev.platter.node.move.MoveSource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node with a real disk, and an API server in memory where somebody deletes its identity. */
class IdentityKeeperTest implements IdentityKeeper.Objects, IdentityMover.Peers {
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  @TempDir Path work;
  private @Nullable VmIdentity object;
  private MovingNode node;
  private int version;
  private int asked;
  private int written;
  private Runnable beforeStatus = () -> {};

  @BeforeEach
  void start() throws IOException {
    node = new MovingNode("one", work, this, this);
    made("uid-1");
  }

  @AfterEach
  void close() throws IOException {
    node.close();
  }

  private void made(String uid) {
    var made = new VmIdentity();
    made.setMetadata(
        new ObjectMetaBuilder().withNamespace("default").withName("pet").withUid(uid).build());
    made.setSpec(
        JsonNodeFactory.instance
            .objectNode()
            .put("image", "disks/a@sha256:" + "1".repeat(64))
            .put("nodeName", "one"));
    change(made);
  }

  private VmIdentity change(VmIdentity changed) {
    object = Serialization.clone(changed);
    object.getMetadata().setResourceVersion(String.valueOf(++version));
    return object;
  }

  @Override
  public Optional<VmIdentity> identity(IdentityKey key) {
    return Optional.ofNullable(object);
  }

  @Override
  public Optional<VmIdentity> identityNow(IdentityKey key) {
    asked++;
    return Optional.ofNullable(object);
  }

  @Override
  public Collection<String> nodes() {
    return List.of("one");
  }

  private VmIdentity latest(VmIdentity identity) {
    written++;
    if (object == null) {
      throw new KubernetesClientException("it is gone", 404, null);
    }
    if (!identity
        .getMetadata()
        .getResourceVersion()
        .equals(object.getMetadata().getResourceVersion())) {
      throw new KubernetesClientException("it has changed", 409, null);
    }
    return object;
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    beforeStatus.run();
    var changed = change(latest(identity));
    changed.setStatus(status);
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    change(latest(identity)).getMetadata().setFinalizers(finalizers);
  }

  @Override
  public Optional<MoveSource> source(String other) {
    return Optional.empty();
  }

  @Override
  public Optional<String> nodeOf(String fingerprint) {
    return Optional.empty();
  }

  /**
   * What an event sets in motion.
   *
   * @return whether it has to be looked at again
   */
  private boolean look() throws IOException {
    return !node.keeper().look(Set.of(PET), false).isEmpty();
  }

  private VmIdentity now() {
    return Optional.ofNullable(object).orElseThrow();
  }

  @Test
  void aDiskCostsOneChangeAndWhatFollowsCostsNothing() throws IOException {
    assertThat(look()).isFalse();
    assertThat(IdentityStatus.of(now()).ready()).isTrue();
    assertThat(node.usable()).isTrue();
    look(); // at what it has said itself
    change(now()); // by somebody else
    look();
    node.keeper().look(Set.of(), true);
    assertThat(written).isEqualTo(1);
    assertThat(asked).isZero();
  }

  @Test
  void anIdentityThatVanishesTakesItsDiskAlong() throws IOException {
    look();
    object = null;
    look();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void oneThatVanishedWhileNobodyLookedDoesSoToo() throws IOException {
    look();
    object = null;
    node.keeper().look(Set.of(), true);
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void oneThatVanishesBeforeItsDiskIsSaidToBeHereLeavesNothing() throws IOException {
    beforeStatus = () -> object = null;
    assertThat(look()).isTrue();
    look();
    assertThat(node.isClean()).isTrue();
  }

  @Test
  void anotherOfItsNameGetsADiskOfItsOwnAtOnce() throws IOException {
    look();
    var before = node.disk();
    made("uid-2");
    look();
    assertThat(node.disk()).isNotEqualTo(before);
    assertThat(Path.of(before)).doesNotExist();
    assertThat(IdentityStatus.of(now()).ready()).isTrue();
  }

  @Test
  void aVmWritesOnlyWhenTheIdentityWaitsForItsDisk() throws IOException {
    look();
    assertThat(now().waitsForDisk()).isFalse();
    assertThat(node.access().obstacle(PET)).get().asString().contains("no finalizer yet");
    node.wanted(true);
    look();
    assertThat(now().getMetadata().getFinalizers()).containsExactly(Names.DISK_FINALIZER);
    assertThat(node.access().obstacle(PET)).isEmpty();
    look();
    assertThat(written).isEqualTo(2);

    node.wanted(false);
    look();
    assertThat(now().waitsForDisk()).as("for good").isTrue();
    now().getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    look();
    assertThat(node.isClean()).isTrue();
    assertThat(now().waitsForDisk()).isFalse();
  }

  @Test
  void aVmThatComesTooLateDoesNotWrite() throws IOException {
    look();
    node.wanted(true);
    var seen = now();
    change(seen).getMetadata().setFinalizers(List.of("somebody.example/else"));
    now().getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    look();
    assertThat(now().waitsForDisk()).isFalse();
    assertThat(node.access().obstacle(PET)).get().asString().contains("is being deleted");
    assertThat(node.isClean()).isTrue();
  }
}
