package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class IdentityReconcilerTest implements IdentityReconciler.Known, IdentityReconciler.Changes {
  private static final String IMAGE = "disks/db@sha256:" + "1".repeat(64);

  private final Map<String, VmIdentity> identities = new HashMap<>();
  private final Map<String, VmIdentitySet> sets = new HashMap<>();
  private final List<Pod> pods = new ArrayList<>();
  private final Set<String> nodes = new HashSet<>(Set.of("node1"));
  private final List<String> events = new ArrayList<>();
  private final IdentityReconciler reconciler =
      new IdentityReconciler(
          this, this, new VolumeIdentities(new FakeStorage(), InstantSource.system()));

  @Override
  public @Nullable VmIdentity identity(String key) {
    return identities.get(key);
  }

  @Override
  public @Nullable VmIdentitySet set(String key) {
    return sets.get(key);
  }

  @Override
  public List<Pod> pods(String key) {
    return pods.stream().filter(pod -> key.equals(IdentityReconciler.key(pod))).toList();
  }

  @Override
  public boolean hasNode(String name) {
    return nodes.contains(name);
  }

  @Override
  public void create(VmIdentity identity) {
    var meta = identity.getMetadata();
    identities.put(meta.getNamespace() + "/" + meta.getName(), identity);
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    identity.getMetadata().setFinalizers(finalizers);
  }

  @Override
  public void place(VmIdentity identity, String node) {
    ((ObjectNode) identity.getSpec()).put("nodeName", node);
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.add(reason.word() + ": " + message);
  }

  private static Pod pod(String name, @Nullable String node, String image) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("shop")
        .withName(name)
        .withCreationTimestamp("2026-01-01T00:00:00Z")
        .addToLabels(Names.IDENTITY, name)
        .addToAnnotations(Names.IDENTITY_SET, "dbs")
        .addToAnnotations(Names.WRITTEN, "{\"containers\": [{\"image\": \"" + image + "\"}]}")
        .endMetadata()
        .withNewSpec()
        .withNodeName(node)
        .endSpec()
        .build();
  }

  private void set() {
    var set = new VmIdentitySet();
    set.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("dbs").build());
    set.setSpec(
        JsonNodeFactory.instance
            .objectNode()
            .put("image", "virtlet.cloud/" + IMAGE)
            .put("size", "2Gi")
            .put("autoStart", false));
    sets.put("shop/dbs", set);
  }

  @Test
  void aPodThatWasPlacedGetsItsIdentityThere() {
    set();
    pods.add(pod("db-0", null, "virtlet.cloud/" + IMAGE));
    reconciler.reconcile("shop/db-0");
    assertThat(identities).isEmpty();
    pods.set(0, pod("db-0", "node1", "virtlet.cloud/" + IMAGE));
    reconciler.reconcile("shop/db-0");
    var made = identities.get("shop/db-0");
    assertThat(made).isNotNull();
    assertThat(made.getSpec().toString())
        .isEqualTo(
            "{\"image\":\"virtlet.cloud/%s\",\"size\":\"2Gi\",\"identitySet\":\"dbs\",\"nodeName\":\"node1\"}"
                .formatted(IMAGE));
    assertThat(made.getMetadata().getFinalizers()).containsExactly(Names.DISK_FINALIZER);
    assertThat(made.getMetadata().getOwnerReferences()).isEmpty();
    assertThat(events).isEmpty();
  }

  @Test
  void aPodWhoseDiskIsAClaimGetsItsIdentityBeforeItIsPlaced() {
    set();
    ((ObjectNode) sets.get("shop/dbs").getSpec()).put("type", "PersistentVolume");
    pods.add(pod("db-0", null, "virtlet.cloud/" + IMAGE));
    reconciler.reconcile("shop/db-0");
    assertThat(identities.get("shop/db-0").getSpec().has("nodeName")).isFalse();
  }

  @Test
  void aPodOfAnotherImageOrWithoutASetIsToldAndWaits() {
    pods.add(pod("db-0", "node1", "disks/other@sha256:" + "2".repeat(64)));
    reconciler.reconcile("shop/db-0");
    assertThat(events).singleElement().asString().startsWith("NotFound: ").contains("dbs");
    set();
    reconciler.reconcile("shop/db-0");
    assertThat(events).last().asString().startsWith("Invalid: ").contains(IMAGE);
    assertThat(identities).isEmpty();
  }

  @Test
  void aPodThatEndsMakesNoIdentity() {
    set();
    var pod = pod("db-0", "node1", IMAGE);
    pod.getMetadata().setDeletionTimestamp("2026-01-01T00:00:10Z");
    pods.add(pod);
    reconciler.reconcile("shop/db-0");
    assertThat(identities).isEmpty();
  }

  private @Nullable String placed(@Nullable String wanted, @Nullable String at, Pod... now) {
    var identity = new VmIdentity();
    identity.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("db-0").build());
    identity.setSpec(JsonNodeFactory.instance.objectNode().put("nodeName", wanted));
    identity.setStatus(new IdentityStatus(null, true, at, null, List.of(), null));
    identities.put("shop/db-0", identity);
    pods.clear();
    pods.addAll(List.of(now));
    reconciler.reconcile("shop/db-0");
    return identity.wantedNode();
  }

  @Test
  void aDiskFollowsItsPodUnlessAPodIsWhereTheDiskIs() {
    var here = pod("db-0", "node1", IMAGE);
    var there = pod("db-0", "node2", IMAGE);
    var nowhere = pod("db-0", null, IMAGE);
    assertThat(placed("node1", "node1", there)).isEqualTo("node2");
    assertThat(placed(null, "node1", there)).isEqualTo("node2");
    assertThat(placed("node3", null, there)).as("it is not made yet").isEqualTo("node2");
    assertThat(placed("node1", "node1", nowhere)).isEqualTo("node1");
    assertThat(placed("node1", "node1")).isEqualTo("node1");
    assertThat(placed("node2", "node1", here)).as("somebody's wish for later").isEqualTo("node2");
    assertThat(placed("node1", "node1", here, there)).isEqualTo("node1");
    var ends = pod("db-0", "node1", IMAGE);
    ends.getMetadata().setDeletionTimestamp("2026-01-01T00:00:10Z");
    assertThat(placed("node1", "node1", ends, there)).as("its VM may run").isEqualTo("node1");
    ends.setStatus(new PodStatusBuilder().withPhase("Succeeded").build());
    assertThat(placed("node1", "node1", ends, there)).isEqualTo("node2");
    there.getMetadata().setDeletionTimestamp("2026-01-01T00:00:10Z");
    assertThat(placed("node1", "node1", there)).isEqualTo("node1");
  }

  @Test
  void thePodOfAPetDoesNotBringItsIdentityBack() {
    set();
    var pod = pod("db-0", "node1", IMAGE);
    pod.getMetadata().getLabels().put(Names.PET, "db-0");
    pods.add(pod);
    reconciler.reconcile("shop/db-0");
    assertThat(identities).isEmpty();
  }

  private VmIdentity deleted(@Nullable String node) {
    var identity = new VmIdentity();
    identity.setMetadata(
        new ObjectMetaBuilder()
            .withNamespace("shop")
            .withName("db-0")
            .withFinalizers("somebody.example/else", Names.DISK_FINALIZER)
            .withDeletionTimestamp("2026-01-01T00:00:00Z")
            .build());
    identity.setSpec(JsonNodeFactory.instance.objectNode());
    if (node != null) {
      identity.setStatus(new IdentityStatus(null, true, node, null, List.of(), null));
    }
    identities.put("shop/db-0", identity);
    reconciler.reconcile("shop/db-0");
    return identity;
  }

  @Test
  void aNodeThatHasTheDiskLetsTheIdentityGoItself() {
    assertThat(deleted("node1").getMetadata().getFinalizers()).contains(Names.DISK_FINALIZER);
  }

  @Test
  void anIdentityWhoseDiskNobodyHasGoes() {
    assertThat(deleted(null).getMetadata().getFinalizers())
        .containsExactly("somebody.example/else");
    assertThat(events).isEmpty();
    assertThat(deleted("gone").getMetadata().getFinalizers())
        .containsExactly("somebody.example/else");
    assertThat(events).singleElement().asString().startsWith("DisksAbandoned: ");
  }
}
