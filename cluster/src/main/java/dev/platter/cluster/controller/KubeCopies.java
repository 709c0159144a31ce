package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Asks the API server. */
record KubeCopies(KubernetesClient client, Populations populations)
    implements CopyReconciler.Copies {
  @Override
  public @Nullable PersistentVolumeClaim claim(String namespace, String name) {
    return populations.claimNow(namespace, name);
  }

  @Override
  public Optional<VolumeClass> volumeClass(String name) {
    return populations.volumeClass(name);
  }

  @Override
  public Optional<String> origin(PersistentVolumeClaim claim) {
    var namespace = claim.getMetadata().getNamespace();
    var from = claim.getSpec().getDataSource();
    if (from.getKind().equals(SnapshotApi.SNAPSHOT_KIND)) {
      return new SnapshotApi(client).handle(namespace, from.getName(), Names.VOLUME_DRIVER);
    }
    return Optional.ofNullable(populations.claimNow(namespace, from.getName()))
        .map(found -> found.getSpec().getVolumeName())
        .map(populations::volume)
        .map(volume -> volume.getSpec().getCsi())
        .filter(csi -> csi.getDriver().equals(Names.VOLUME_DRIVER))
        .map(csi -> csi.getVolumeHandle());
  }

  @Override
  public List<String> nodes() {
    return client.nodes().list().getItems().stream()
        .map(node -> node.getMetadata().getName())
        .toList();
  }

  @Override
  public void annotate(PersistentVolumeClaim claim, Map<String, String> annotations) {
    populations.annotate(claim, annotations);
  }
}
