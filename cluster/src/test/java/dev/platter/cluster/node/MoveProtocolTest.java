package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.lab.Shell;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.move.MoveSource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two nodes with real disks and a real connection, and an API server in memory that refuses what is
 * not about its latest version; so what happens between two of their steps can be chosen.
 */
class MoveProtocolTest implements IdentityKeeper.Objects, IdentityMover.Peers {
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  @TempDir Path work;
  private VmIdentity object = new VmIdentity();
  private @Nullable VmIdentity cached;
  private int version;
  private Consumer<IdentityStatus> before = _ -> {};
  private Consumer<IdentityStatus> after = _ -> {};
  private MovingNode one;
  private MovingNode two;

  @BeforeEach
  void make() throws IOException {
    object.setMetadata(
        new ObjectMetaBuilder().withNamespace("default").withName("pet").withUid("uid-1").build());
    object.setSpec(
        JsonNodeFactory.instance
            .objectNode()
            .put("image", "disks/a@sha256:" + "1".repeat(64))
            .put("nodeName", "one"));
    changed();
    one = new MovingNode("one", work.resolve("one"), this, this);
    two = new MovingNode("two", work.resolve("two"), this, this);
    settle("one");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 7 1M 3M", one.disk());
  }

  @AfterEach
  void close() throws IOException {
    one.close();
    two.close();
  }

  private synchronized void changed() {
    object = Serialization.clone(object);
    object.getMetadata().setResourceVersion(String.valueOf(++version));
  }

  private synchronized void want(String node) {
    object = Serialization.clone(object);
    ((ObjectNode) object.getSpec()).put("nodeName", node);
    changed();
  }

  @Override
  public synchronized Optional<VmIdentity> identity(IdentityKey key) {
    return Optional.of(cached == null ? object : cached);
  }

  @Override
  public synchronized Optional<VmIdentity> identityNow(IdentityKey key) {
    return Optional.of(object);
  }

  @Override
  public Collection<String> nodes() {
    return List.of("one", "two");
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    before.accept(status);
    synchronized (this) {
      var seen = identity.getMetadata().getResourceVersion();
      if (!seen.equals(object.getMetadata().getResourceVersion())) {
        throw new KubernetesClientException("it has changed", 409, null);
      }
      object = Serialization.clone(object);
      object.setStatus(status);
      changed();
    }
    after.accept(status);
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Optional<MoveSource> source(String node) {
    return Optional.of((node.equals("one") ? one : two).source());
  }

  @Override
  public Optional<String> nodeOf(String fingerprint) {
    return List.of(one, two).stream()
        .filter(node -> node.source().fingerprint().equals(fingerprint))
        .map(MovingNode::name)
        .findFirst();
  }

  /**
   * One node looks at all that it has, as each does now and then, the other at what has changed.
   */
  private static void look(MovingNode node) {
    try {
      node.keeper().look(Set.of(PET), node.name().equals("one"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Until the disk is on this node, and on no other. */
  private void settle(String node) {
    await()
        .pollInterval(Duration.ofMillis(20))
        .until(
            () -> {
              look(one);
              look(two);
              var status = IdentityStatus.of(identityNow(PET).orElseThrow());
              return node.equals(status.nodeName())
                  && status.conditions().size() == 1
                  && one.isClean() != two.isClean()
                  && (node.equals("one") ? one : two).node().identities().isUsable(PET);
            });
  }

  private static void assertHolds(MovingNode node, int pattern, String where) {
    var read = "read -P %d %s".formatted(pattern, where);
    assertThat(Shell.run("qemu-io", "-r", "-f", "qcow2", "-c", read, node.disk()))
        .contains("read ")
        .doesNotContain("verification failed");
    Shell.run("qemu-img", "check", "-q", node.disk());
  }

  @Test
  void aDiskMovesToTheNodeThatItsSpecNames() {
    want("two");
    settle("two");
    assertHolds(two, 7, "1M 3M");
    want("one");
    settle("one");
    assertHolds(one, 7, "1M 3M");
  }

  @Test
  void itsImageIsFetchedWithTheLoginsOfThePodThatWantsIt() throws IOException {
    want("two");
    two.mounted(Optional.empty());
    look(two);
    look(two);
    assertThat(two.isClean()).as("they are not here yet").isTrue();
    var logins = new ImageLogins(List.of("{}".getBytes(StandardCharsets.UTF_8)));
    two.mounted(Optional.of(logins));
    settle("two");
    assertThat(two.askedWith()).containsExactly(logins);
  }

  private String said(String type) {
    var conditions = IdentityStatus.of(identityNow(PET).orElseThrow()).conditions();
    var condition = Conditions.find(conditions, type);
    return condition == null ? "" : String.valueOf(condition.message());
  }

  @Test
  void aDiskComesWithItsImageWhenTheRegistryStaysAway() {
    two.registryGoes();
    want("two");
    await()
        .until(
            () -> {
              look(two);
              return said("Placed")
                  .matches(
                      "the registry is away.* for 1 seconds, the disk comes with all of its.*");
            });
    settle("two");
    assertHolds(two, 7, "1M 3M");
    assertHolds(two, MovingNode.IMAGE, "5M 3M");
    assertThat(two.hasImage()).isFalse();
    var ready = "Its disk is on two, with its image in it, which could not be had.";
    assertThat(said("Ready")).isEqualTo(ready);

    // It was to go back, and stays after all.
    want("one");
    look(one);
    assertThat(said("Placed")).isNotEmpty();
    want("two");
    settle("two");
    assertThat(said("Ready")).isEqualTo(ready);
    want("one");
    settle("one");
    assertHolds(one, MovingNode.IMAGE, "5M 3M");
  }

  @Test
  void aCopyThatWasFetchedBeforeTheDiskWasToStayNeverCounts() {
    before =
        status -> {
          if ("two".equals(status.nodeName())) {
            before = _ -> {};
            // All of it is there, and the word that it is here is on its way.
            want("one");
            look(one);
            assertThat(one.usable()).isTrue();
            Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 9 1M 3M", one.disk());
            want("two");
          }
        };
    want("two");
    settle("two");
    assertHolds(two, 9, "1M 3M");
  }

  @Test
  void aClaimWhoseAnswerIsLostCounts() {
    after =
        status -> {
          if ("two".equals(status.nodeName())) {
            after = _ -> {};
            throw new KubernetesClientException("the connection broke");
          }
        };
    want("two");
    settle("two");
    assertHolds(two, 7, "1M 3M");
  }

  @Test
  void anInformerThatIsBehindRemovesNothing() {
    want("two");
    var old = identityNow(PET).orElseThrow();
    settle("two");
    cached = old;
    look(two);
    look(one);
    assertThat(two.usable()).isTrue();
    cached = null;
    want("one");
    settle("one");
    assertHolds(one, 7, "1M 3M");
  }

  @Test
  void aDiskIsGivenToTheNodeThatIsToHaveItOnly() throws IOException {
    want("two");
    for (var peer : List.of("one", "three")) {
      assertThatThrownBy(() -> one.mover().lend(peer, PET, "uid-1", false))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("is not to move from one to " + peer);
    }
    assertThatThrownBy(() -> one.mover().lend("two", PET, "uid-2", false))
        .isInstanceOf(PlatterException.class);
    assertThat(one.usable()).isTrue();
    assertThat(one.mover().lend("two", PET, "uid-1", false).lasts()).isTrue();
    assertThat(one.usable()).isFalse();
    assertThat(Files.exists(Path.of(one.disk()))).isTrue();
  }
}
