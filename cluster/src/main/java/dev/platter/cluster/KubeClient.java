package dev.platter.cluster;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.WithoutHistory;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;

/** How Platter talks to an API server. */
public final class KubeClient {
  /** What failed is tried again by who knows whether it still matters. */
  private static final int RETRIES = 1;

  private KubeClient() {}

  /** By the pod's service account, or by what kubectl would use. */
  public static KubernetesClient open() {
    var config = new ConfigBuilder().withRequestRetryBackoffLimit(RETRIES).build();
    return new KubernetesClientBuilder()
        .withConfig(config)
        .withKubernetesSerialization(serialization())
        .build();
  }

  static KubernetesSerialization serialization() {
    var mapper = new ObjectMapper().addMixIn(ObjectMeta.class, WithoutHistory.class);
    return new KubernetesSerialization(mapper, true);
  }
}
