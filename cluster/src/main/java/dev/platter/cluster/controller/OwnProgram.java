package dev.platter.cluster.controller;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What pods that fill claims run: our own image, with what the operator says of registries and
 * networks.
 */
record OwnProgram(KubernetesClient client, Controller.Settings settings)
    implements Supplier<FillPod.Program> {
  /** The ConfigMap that the nodes' daemons have mounted, if somebody made it. */
  private static final String IMAGES = "platter-images";

  private static final String REGISTRIES = "registries.conf";
  private static final String AUTHORITY = ".crt";

  @Override
  public FillPod.Program get() {
    return of(
        settings, client.configMaps().inNamespace(settings.namespace()).withName(IMAGES).get());
  }

  static FillPod.Program of(Controller.Settings settings, @Nullable ConfigMap images) {
    var data = Optional.ofNullable(images).map(ConfigMap::getData).orElse(Map.of());
    var authorities = new TreeMap<String, String>(data);
    authorities.keySet().removeIf(name -> !name.endsWith(AUTHORITY));
    return new FillPod.Program(
        settings.image(),
        settings.pullPolicy(),
        data.getOrDefault(REGISTRIES, ""),
        settings.networks(),
        authorities);
  }
}
