package dev.platter.cluster.controller;

import dev.platter.cluster.api.IdentityChanges;
import dev.platter.cluster.api.IdentityFeed;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The storage of the API server. Of claims and pods only those are watched that have to do with
 * images; classes, snapshots and events are asked for when they matter, which is seldom.
 */
final class KubeStorage implements Storage, AutoCloseable {
  private final KubernetesClient client;
  private final IdentityChanges changes;
  private final SnapshotApi snapshots;
  private final VolumeClasses classes;
  private final IdentityFeed identities;
  private final SharedIndexInformer<VmImage> images;
  private final SharedIndexInformer<PersistentVolumeClaim> claims;
  private final SharedIndexInformer<Pod> fillers;

  KubeStorage(KubernetesClient client, IdentityFeed identities) {
    this.client = client;
    this.changes = new IdentityChanges(client);
    this.snapshots = new SnapshotApi(client);
    this.classes = new VolumeClasses(client);
    this.identities = identities;
    images = client.resources(VmImage.class).inAnyNamespace().runnableInformer(0);
    claims =
        client.persistentVolumeClaims().inAnyNamespace().withLabel(Names.IMAGE).runnableInformer(0);
    fillers = client.pods().inAnyNamespace().withLabel(Names.IMAGE).runnableInformer(0);
  }

  SharedIndexInformer<VmImage> images() {
    return images;
  }

  SharedIndexInformer<PersistentVolumeClaim> claims() {
    return claims;
  }

  SharedIndexInformer<Pod> fillers() {
    return fillers;
  }

  @Override
  public @Nullable VmImage image(String key) {
    return images.getStore().getByKey(key);
  }

  @Override
  public @Nullable PersistentVolumeClaim claim(String key) {
    return claims.getStore().getByKey(key);
  }

  @Override
  public @Nullable Pod filler(String key) {
    return fillers.getStore().getByKey(key);
  }

  @Override
  public List<VmIdentity> identities(String namespace) {
    return identities.all().stream()
        .filter(identity -> identity.getMetadata().getNamespace().equals(namespace))
        .toList();
  }

  @Override
  public @Nullable PersistentVolumeClaim claimNow(String namespace, String name) {
    return client.persistentVolumeClaims().inNamespace(namespace).withName(name).get();
  }

  @Override
  public Optional<VolumeClass> volumeClass(@Nullable String name) {
    return name == null ? classes.ofIdentities() : classes.find(name);
  }

  @Override
  public SnapshotClass snapshotClass(String driver) {
    return snapshots.classOf(driver);
  }

  @Override
  public Optional<Snapshot> snapshot(String namespace, String name) {
    return snapshots.find(namespace, name);
  }

  @Override
  public Optional<String> complaint(PersistentVolumeClaim claim) {
    return classes.complaint(claim);
  }

  @Override
  public void create(HasMetadata object) {
    client.resource(object).create();
  }

  @Override
  public void createSnapshot(VmImage image, String claim, String snapshotClass) {
    snapshots.create(image, claim, snapshotClass);
  }

  @Override
  public void delete(HasMetadata object) {
    client.resource(object).lockResourceVersion(object.getMetadata().getResourceVersion()).delete();
  }

  @Override
  public void status(VmImage image, ImageStatus status) {
    var changed = new VmImage();
    changed.setMetadata(image.getMetadata());
    changed.setSpec(image.getSpec());
    changed.setStatus(status);
    client.resource(changed).updateStatus();
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    changes.status(identity, status);
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    changes.finalizers(identity, finalizers);
  }

  @Override
  public void close() {
    Stream.of(images, claims, fillers).forEach(SharedIndexInformer::close);
  }
}
