package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.FillStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectReferenceBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimStatusBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Claims and what fills them, in memory. Pods and volumes do nothing until a test says so. */
final class FakePopulations implements Populations {
  final Map<String, HasMetadata> objects = new TreeMap<>();
  final List<String> events = new ArrayList<>();
  VolumeClass volumeClass = new VolumeClass("fast", "csi.example", false);
  SnapshotClass snapshotClass = new SnapshotClass.None("nobody makes any");
  Optional<Progress> progress = Optional.empty();
  @Nullable String complaint;

  /** Told before and after each change; who throws there is a controller that is killed. */
  Runnable moment = () -> {};

  InstantSource clock = InstantSource.fixed(Instant.EPOCH);

  /** What the server does not let anybody make. */
  Predicate<HasMetadata> refused = _ -> false;

  private int uids;

  static String key(HasMetadata object) {
    return object.getKind() + " " + object.getMetadata().getName();
  }

  private static String name(HasMetadata object) {
    return object.getMetadata().getName();
  }

  private <T extends HasMetadata> @Nullable T find(Class<T> type, String kind, String key) {
    return type.cast(objects.get(kind + " " + key.substring(key.indexOf('/') + 1)));
  }

  <T extends HasMetadata> List<T> all(Class<T> type) {
    return objects.values().stream().filter(type::isInstance).map(type::cast).toList();
  }

  @Override
  public @Nullable ClaimSource source(SourceKey key) {
    var found = find(ClaimSource.class, key.kind(), key.name());
    return found != null && found.getMetadata().getNamespace().equals(key.namespace())
        ? found
        : null;
  }

  @Override
  public List<PersistentVolumeClaim> claims(SourceKey key) {
    return all(PersistentVolumeClaim.class).stream()
        .filter(claim -> KubePopulations.source(claim).filter(key::equals).isPresent())
        .toList();
  }

  @Override
  public @Nullable PersistentVolumeClaim claim(String key) {
    return find(PersistentVolumeClaim.class, "PersistentVolumeClaim", key);
  }

  @Override
  public @Nullable Pod pod(String key) {
    return find(Pod.class, "Pod", key);
  }

  @Override
  public @Nullable PersistentVolumeClaim claimNow(String namespace, String name) {
    return claim(name);
  }

  @Override
  public @Nullable Pod podNow(String namespace, String name) {
    return pod(name);
  }

  @Override
  public @Nullable PersistentVolume volume(String name) {
    return find(PersistentVolume.class, "PersistentVolume", name);
  }

  @Override
  public List<Pod> users(PersistentVolumeClaim claim) {
    return all(Pod.class).stream()
        .filter(
            pod ->
                pod.getSpec().getVolumes().stream()
                    .map(volume -> volume.getPersistentVolumeClaim())
                    .anyMatch(it -> it != null && it.getClaimName().equals(name(claim))))
        .toList();
  }

  @Override
  public Optional<VolumeClass> volumeClass(String name) {
    return Optional.of(volumeClass).filter(it -> it.name().equals(name));
  }

  @Override
  public SnapshotClass snapshotClass(String driver) {
    return snapshotClass;
  }

  @Override
  public List<GenericKubernetesResource> snapshots(ClaimSource source) {
    return all(GenericKubernetesResource.class).stream()
        .filter(
            it ->
                source
                    .getMetadata()
                    .getUid()
                    .equals(it.getMetadata().getLabels().get(Names.ORIGINAL)))
        .toList();
  }

  @Override
  public Optional<String> complaint(PersistentVolumeClaim claim) {
    return Optional.ofNullable(complaint);
  }

  @Override
  public List<Optional<Progress>> progress(List<Pod> pods) {
    return pods.stream().map(_ -> progress).toList();
  }

  private void change(Runnable change) {
    moment.run();
    change.run();
    moment.run();
  }

  @Override
  public <T extends HasMetadata> T create(T object) {
    if (refused.test(object)) {
      throw new KubernetesClientException("exceeded quota", 403, null);
    }
    change(() -> add(object));
    return object;
  }

  void add(HasMetadata object) {
    var meta = object.getMetadata();
    meta.setUid("uid-" + uids++);
    meta.setGeneration(1L);
    meta.setResourceVersion("1");
    meta.setCreationTimestamp(clock.instant().toString());
    if (object instanceof Pod pod) {
      pod.setStatus(new PodStatusBuilder().withPhase("Pending").build());
    }
    if (object instanceof PersistentVolumeClaim claim) {
      claim.setStatus(new PersistentVolumeClaimStatusBuilder().withPhase("Pending").build());
    }
    if (objects.putIfAbsent(key(object), object) != null) {
      throw new KubernetesClientException("exists", 409, null);
    }
  }

  @Override
  public void delete(HasMetadata object) {
    change(() -> objects.remove(key(object)));
  }

  @Override
  public void bind(PersistentVolume volume, PersistentVolumeClaim claim, Optional<String> digest) {
    change(
        () -> {
          own(volume, claim);
          volume.getMetadata().setAnnotations(Map.of(Names.FILLED, digest.orElse("")));
        });
  }

  static void own(PersistentVolume volume, PersistentVolumeClaim claim) {
    volume
        .getSpec()
        .setClaimRef(
            new ObjectReferenceBuilder()
                .withName(claim.getMetadata().getName())
                .withUid(claim.getMetadata().getUid())
                .build());
  }

  @Override
  public void annotate(PersistentVolumeClaim claim, Map<String, String> annotations) {
    change(
        () -> {
          var meta = claim.getMetadata();
          var all = new TreeMap<>(meta.getAnnotations() == null ? Map.of() : meta.getAnnotations());
          all.putAll(annotations);
          meta.setAnnotations(all);
        });
  }

  @Override
  public void status(ClaimSource source, FillStatus status) {
    // Who says it may have a copy, as of a server.
    var stored = Objects.requireNonNull(find(ClaimSource.class, source.getKind(), name(source)));
    change(() -> stored.say(status));
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.add(about.getKind() + " " + reason.word() + ": " + message);
  }
}
