package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.StatusBuilder;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PetReconcilerTest implements PetReconciler.Known, PetReconciler.Changes {
  private static final String KEY = "shop/cat";
  private static final String IMAGE = "disks/db@sha256:" + "1".repeat(64);

  private final Map<String, StatefulSet> statefulSets = new HashMap<>();
  private final List<String> calls = new ArrayList<>();
  private final List<String> events = new ArrayList<>();
  private @Nullable VmIdentity identity;
  private @Nullable VmIdentitySet set;
  private @Nullable KubernetesClientException refusal;
  private Instant now = Instant.parse("2026-01-01T00:01:00Z");
  private PetReconciler reconciler = new PetReconciler(this, this, () -> now);

  @Override
  public @Nullable VmIdentity identity(String key) {
    return identity;
  }

  @Override
  public @Nullable VmIdentitySet set(String key) {
    return key.equals("shop/pets") ? set : null;
  }

  @Override
  public @Nullable StatefulSet pet(String key) {
    var found = statefulSets.get(key);
    return found != null && found.getMetadata().getLabels().containsKey(Names.PET) ? found : null;
  }

  @Override
  public @Nullable StatefulSet statefulSet(String namespace, String name) {
    return statefulSets.get(namespace + "/" + name);
  }

  @Override
  public void tryPod(ObjectNode pod) {
    calls.add("try");
    if (refusal != null) {
      throw refusal;
    }
  }

  @Override
  public long apply(ObjectNode pet, boolean force) {
    calls.add(force ? "apply by force" : "apply");
    var there = statefulSets.get(KEY);
    if (there != null && !force) {
      throw refusal(409, "conflict");
    }
    var made = Serialization.unmarshal(pet.toString(), StatefulSet.class);
    made.getMetadata().setUid("sts");
    var generation = there == null ? 1 : there.getMetadata().getGeneration();
    made.getMetadata()
        .setGeneration(there == null || there.equals(made) ? generation : generation + 1);
    statefulSets.put(KEY, made);
    return made.getMetadata().getGeneration();
  }

  @Override
  public void delete(StatefulSet pet) {
    calls.add("delete");
    statefulSets.remove(KEY);
  }

  @Override
  public void conditions(VmIdentity about, List<Condition> conditions) {
    calls.add("conditions");
    var status = IdentityStatus.of(about);
    var all = new ArrayList<>(conditions);
    status.conditions().stream().filter(it -> it.type().equals("Ready")).forEach(all::add);
    status(status.nodeName(), all);
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.add(reason.word() + ": " + message);
  }

  private void status(@Nullable String node, List<Condition> conditions) {
    identity.setStatus(
        Serialization.unmarshal(
            Serialization.asJson(
                node == null
                    ? Map.of("conditions", conditions)
                    : Map.of("ready", true, "nodeName", node, "conditions", conditions)),
            IdentityStatus.class));
  }

  private static KubernetesClientException refusal(int code, String message) {
    return new KubernetesClientException(
        "Failure", code, new StatusBuilder().withCode(code).withMessage(message).build());
  }

  private static VmIdentitySet pets(String more) {
    return Serialization.unmarshal(
        """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: pets, namespace: shop}
        spec: {image: "%s"%s}
        """
            .formatted(IMAGE, more),
        VmIdentitySet.class);
  }

  private static final String STARTS =
      """
      , autoStart: true, template: {
      metadata: {labels: {app: zoo}, annotations: {VirtletVMIdentityName: forged}},
      spec: {containers: [{name: vm, resources: {limits: {memory: 1Gi}}}]}}\
      """;

  @BeforeEach
  void anIdentityThatIsReady() {
    called("cat");
    status("node1", List.of());
    set = pets(STARTS);
  }

  private void called(String name) {
    identity =
        Serialization.unmarshal(
            """
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: %s, namespace: shop, uid: u1, creationTimestamp: "2026-01-01T00:00:00Z"}
            spec: {image: "%s", identitySet: pets}
            """
                .formatted(name, IMAGE),
            VmIdentity.class);
  }

  private @Nullable Duration look() {
    return reconciler.reconcile(KEY);
  }

  private Condition condition(String type) {
    return IdentityStatus.of(identity).conditions().stream()
        .filter(it -> it.type().equals(type))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aStatefulSetOfOneRunsTheIdentity() {
    assertThat(look()).isNull();
    var made = statefulSets.get(KEY);
    assertThat(made.getSpec().getReplicas()).isEqualTo(1);
    var template = made.getSpec().getTemplate();
    assertThat(template.getMetadata().getLabels())
        .containsExactlyInAnyOrderEntriesOf(Map.of("app", "zoo", Names.PET, "cat"))
        .containsAllEntriesOf(made.getSpec().getSelector().getMatchLabels());
    assertThat(template.getMetadata().getAnnotations())
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "kubernetes.io/target-runtime",
                "virtlet.cloud",
                "VirtletVMIdentitySet",
                "pets",
                "VirtletVMIdentityName",
                "cat"));
    assertThat(template.getSpec().getContainers().getFirst().getImage())
        .isEqualTo("virtlet.cloud/" + IMAGE);
    assertThat(made.getMetadata().getOwnerReferences())
        .singleElement()
        .satisfies(owner -> assertThat(owner.getUid()).isEqualTo("u1"));
    assertThat(condition("AutoStarted").holds()).isTrue();
  }

  @Test
  void whatIsAsItShouldBeCostsNoCall() {
    look();
    assertThat(calls).containsExactly("try", "apply", "conditions");
    look();
    look();
    assertThat(calls).hasSize(3);
  }

  @Test
  void aNewControllerAppliesOnceAndThenNoMore() {
    look();
    reconciler = new PetReconciler(this, this, () -> now);
    calls.clear();
    look();
    look();
    assertThat(calls).containsExactly("try", "apply by force");
  }

  @Test
  void whatSomebodyChangedIsPutRight() {
    look();
    calls.clear();
    var pet = statefulSets.get(KEY);
    pet.getSpec().setReplicas(5);
    pet.getMetadata().setGeneration(2L);
    look();
    assertThat(statefulSets.get(KEY).getSpec().getReplicas()).isEqualTo(1);
    assertThat(calls).containsExactly("apply by force");
    statefulSets.clear();
    look();
    assertThat(statefulSets).containsKey(KEY);
  }

  @Test
  void itWaitsUntilNodesHaveSaidWhereTheDiskIsOrWhyThereIsNone() {
    status(null, List.of());
    look();
    assertThat(calls).isEmpty();
    status(null, List.of(new Condition("Ready", "False", "Refused", "login", null, null)));
    look();
    assertThat(statefulSets).containsKey(KEY);
    assertThat(condition("Ready").message()).isEqualTo("login");
  }

  @Test
  void theStatefulSetGoesFirstWhenTheIdentityIsDeleted() {
    look();
    identity.getMetadata().setDeletionTimestamp("2026-01-01T00:02:00Z");
    look();
    assertThat(statefulSets).isEmpty();
    look();
    assertThat(calls).containsOnlyOnce("delete").doesNotHaveDuplicates();
  }

  @Test
  void theVmStopsWhenItsSetStartsNoneAnyMore() {
    look();
    set = pets("");
    look();
    assertThat(statefulSets).isEmpty();
    assertThat(IdentityStatus.of(identity).conditions()).isEmpty();
    assertThat(IdentityStatus.of(identity).nodeName()).isEqualTo("node1");
  }

  @Test
  void aSetThatIsGoneStopsNothingAndTheIdentitySaysSoOnce() {
    look();
    set = null;
    look();
    look();
    assertThat(statefulSets).containsKey(KEY);
    assertThat(condition("SetFound").reason()).isEqualTo("SetGone");
    assertThat(condition("AutoStarted").holds()).isTrue();
    assertThat(events).singleElement().asString().startsWith("SetGone: ").contains("pets");
    set = pets(STARTS);
    look();
    assertThat(IdentityStatus.of(identity).conditions())
        .extracting(Condition::type)
        .containsExactly("AutoStarted");
  }

  @Test
  void aSetMayBeKnownAMomentAfterItsIdentity() {
    set = null;
    now = Instant.parse("2026-01-01T00:00:01Z");
    assertThat(look()).isNotNull();
    assertThat(events).isEmpty();
    assertThat(calls).isEmpty();
  }

  @Test
  void whatTheServerSaysAgainstTheTemplateIsACondition() {
    refusal = refusal(422, "spec.containers: Required value");
    assertThat(look()).isNotNull();
    assertThat(statefulSets).isEmpty();
    assertThat(condition("AutoStarted").message()).contains("spec.containers: Required value");
    assertThat(look()).isNotNull();
    assertThat(events).hasSize(1);
    refusal = null;
    assertThat(look()).isNull();
    assertThat(condition("AutoStarted").holds()).isTrue();
  }

  @Test
  void aQuotaWithoutRoomForASecondPodKeepsNoTemplateFromBeingChanged() {
    look();
    refusal = refusal(403, "exceeded quota");
    set = pets(STARTS.replace("1Gi", "2Gi"));
    assertThat(look()).isNull();
    assertThat(Serialization.asJson(statefulSets.get(KEY))).contains("\"2Gi\"");
  }

  @Test
  void aStatefulSetOfSomebodyElseStaysAsItIs() {
    var theirs =
        Serialization.unmarshal(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: cat, labels: {a: b}}\n",
            StatefulSet.class);
    statefulSets.put(KEY, theirs);
    assertThat(look()).isNotNull();
    assertThat(statefulSets.get(KEY)).isSameAs(theirs);
    assertThat(condition("AutoStarted").reason()).isEqualTo("NameTaken");
  }

  @Test
  void aNameThatNoPodOfAStatefulSetCanHaveIsSaid() {
    called("cat.1");
    status("node1", List.of());
    look();
    assertThat(condition("AutoStarted").reason()).isEqualTo("Invalid");
    assertThat(statefulSets).isEmpty();
  }
}
