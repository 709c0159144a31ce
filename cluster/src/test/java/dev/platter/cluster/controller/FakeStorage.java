package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.ContainerStatusBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimStatusBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodConditionBuilder;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A cluster's storage in memory. Claims and pods do nothing until a test says so. */
final class FakeStorage implements Storage {
  static final String NAMESPACE = "shop";

  final Map<String, HasMetadata> objects = new TreeMap<>();
  final Map<String, Snapshot> snapshots = new HashMap<>();
  final List<String> changes = new ArrayList<>();
  @Nullable VolumeClass fast = new VolumeClass("fast", "csi.example", false);
  SnapshotClass snapshotClass = new SnapshotClass.Found("snaps");
  @Nullable String complaint;
  @Nullable String refusal;
  int asked;

  /** Told before and after each change; who throws there is a controller that is killed. */
  Runnable moment = () -> {};

  private int uids;

  static String key(HasMetadata object) {
    return object.getKind() + " " + object.getMetadata().getName();
  }

  private <T extends HasMetadata> @Nullable T find(Class<T> type, String kind, String key) {
    var name = key.substring(key.indexOf('/') + 1);
    return type.cast(objects.get(kind + " " + name));
  }

  @Override
  public @Nullable VmImage image(String key) {
    return find(VmImage.class, "VirtletVMImage", key);
  }

  @Override
  public @Nullable PersistentVolumeClaim claim(String key) {
    var claim = find(PersistentVolumeClaim.class, "PersistentVolumeClaim", key);
    return claim != null
            && Optional.ofNullable(claim.getMetadata().getLabels())
                .filter(labels -> labels.containsKey(Names.IMAGE))
                .isPresent()
        ? claim
        : null;
  }

  @Override
  public @Nullable PersistentVolumeClaim claimNow(String namespace, String name) {
    asked++;
    return find(PersistentVolumeClaim.class, "PersistentVolumeClaim", name);
  }

  @Override
  public @Nullable Pod filler(String key) {
    return find(Pod.class, "Pod", key);
  }

  @Override
  public List<VmIdentity> identities(String namespace) {
    return objects.values().stream()
        .filter(VmIdentity.class::isInstance)
        .map(VmIdentity.class::cast)
        .toList();
  }

  @Override
  public Optional<VolumeClass> volumeClass(@Nullable String name) {
    asked++;
    return Optional.ofNullable(fast).filter(it -> name == null || it.name().equals(name));
  }

  @Override
  public SnapshotClass snapshotClass(String driver) {
    asked++;
    return snapshotClass;
  }

  @Override
  public Optional<Snapshot> snapshot(String namespace, String name) {
    asked++;
    return Optional.ofNullable(snapshots.get(name));
  }

  @Override
  public Optional<String> complaint(PersistentVolumeClaim claim) {
    asked++;
    return Optional.ofNullable(complaint);
  }

  private void change(Runnable change) {
    moment.run();
    change.run();
    moment.run();
  }

  @Override
  public void create(HasMetadata object) {
    change(() -> add(object));
  }

  private void add(HasMetadata object) {
    if (refusal != null) {
      throw new KubernetesClientException(refusal, 403, null);
    }
    object.getMetadata().setUid("uid-" + uids++);
    object.getMetadata().setCreationTimestamp("2026-01-01T00:00:00Z");
    if (object instanceof Pod pod) {
      pod.setStatus(new PodStatusBuilder().withPhase("Pending").build());
    }
    if (object instanceof PersistentVolumeClaim claim) {
      claim.setStatus(new PersistentVolumeClaimStatusBuilder().withPhase("Pending").build());
    }
    if (objects.putIfAbsent(key(object), object) != null) {
      throw new KubernetesClientException("exists", 409, null);
    }
    changes.add("+" + key(object));
  }

  @Override
  public void createSnapshot(VmImage image, String claim, String chosen) {
    var snapshot = new Snapshot(image.getMetadata().getUid(), false, null, null);
    change(() -> snapshots.put(image.getMetadata().getName(), snapshot));
    changes.add("+snapshot of " + claim + " by " + chosen);
  }

  @Override
  public void delete(HasMetadata object) {
    change(() -> objects.remove(key(object)));
    changes.add("-" + key(object));
  }

  @Override
  public void status(VmImage image, ImageStatus status) {
    change(() -> image.setStatus(status));
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    change(() -> identity.setStatus(status));
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    change(() -> identity.getMetadata().setFinalizers(finalizers));
  }

  List<String> changes() {
    var out = List.copyOf(changes);
    changes.clear();
    return out;
  }

  void bind(String claim, String size) {
    var found = claimNow(NAMESPACE, claim);
    assert found != null;
    found.setStatus(
        new PersistentVolumeClaimStatusBuilder()
            .withPhase("Bound")
            .addToCapacity("storage", new io.fabric8.kubernetes.api.model.Quantity(size))
            .build());
  }

  void pod(String name, String phase, String type, String reason, String message) {
    var pod = filler(name);
    assert pod != null;
    pod.getSpec().setNodeName("node1");
    pod.setStatus(
        new PodStatusBuilder()
            .withPhase(phase)
            .withConditions(
                new PodConditionBuilder()
                    .withType(type)
                    .withStatus("True")
                    .withReason(reason)
                    .withMessage(message)
                    .build())
            .build());
  }

  /** Since when it is on a node, and what its container waits for. */
  void waits(String name, Instant since, String reason) {
    var pod = filler(name);
    assert pod != null;
    pod.getStatus()
        .setConditions(
            List.of(
                new PodConditionBuilder()
                    .withType(Condition.POD_SCHEDULED)
                    .withStatus("True")
                    .withLastTransitionTime(since.toString())
                    .build()));
    pod.getStatus()
        .setContainerStatuses(
            List.of(
                new ContainerStatusBuilder()
                    .withNewState()
                    .withNewWaiting()
                    .withReason(reason)
                    .endWaiting()
                    .endState()
                    .build()));
  }
}
