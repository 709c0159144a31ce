package dev.platter.cluster.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What pods that fill claims run: our own image, with what the operator says of registries and
 * networks.
 */
record OwnProgram(KubernetesClient client, Controller.Settings settings)
    implements Supplier<FillPod.Program> {
  /** The ConfigMap that the nodes' daemons have mounted, if somebody made it. */
  private static final String IMAGES = "platter-images";

  private static final String REGISTRIES = "registries.conf";

  @Override
  public FillPod.Program get() {
    var images = client.configMaps().inNamespace(settings.namespace()).withName(IMAGES).get();
    var registries =
        Optional.ofNullable(images)
            .map(found -> found.getData())
            .map(data -> data.get(REGISTRIES))
            .orElse("");
    return new FillPod.Program(
        settings.image(), settings.pullPolicy(), registries, settings.networks());
  }
}
