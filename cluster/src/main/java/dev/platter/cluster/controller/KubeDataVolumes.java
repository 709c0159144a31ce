package dev.platter.cluster.controller;

import dev.platter.cluster.api.DataVolume;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import org.jspecify.annotations.Nullable;

/** Those of the API server. */
final class KubeDataVolumes implements DataVolumes, AutoCloseable {
  private final KubernetesClient client;
  private final SharedIndexInformer<DataVolume> volumes;

  KubeDataVolumes(KubernetesClient client) {
    this.client = client;
    volumes = client.resources(DataVolume.class).inAnyNamespace().runnableInformer(0);
  }

  SharedIndexInformer<DataVolume> informer() {
    return volumes;
  }

  @Override
  public @Nullable DataVolume volume(String key) {
    return volumes.getStore().getByKey(key);
  }

  @Override
  public void status(DataVolume volume, DataVolume.Status status) {
    var changed = new DataVolume();
    changed.setMetadata(volume.getMetadata());
    changed.setSpec(volume.getSpec());
    changed.setStatus(status);
    client.resource(changed).updateStatus();
  }

  @Override
  public void close() {
    volumes.close();
  }
}
