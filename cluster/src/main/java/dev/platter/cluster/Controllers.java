package dev.platter.cluster;

import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.cluster.metrics.MetricsServer;
import dev.platter.cluster.webhook.LauncherPod;
import dev.platter.cluster.webhook.Webhook;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.registry.RegistrySettings;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** One replica of the cluster's part: every one serves the webhook, one of them controls. */
public final class Controllers {
  private static final String IMAGE_GRACE = "PLATTER_IMAGE_GRACE_SECONDS";

  /**
   * Whether clients of CDI can send disks and make DataVolumes; {@code platter install --cdi} sets
   * it.
   */
  private static final String CDI = "PLATTER_CDI";

  private static final int METRICS_PORT = 8080;
  private static final Duration RETRY = Duration.ofSeconds(1);

  private Controllers() {}

  /**
   * Until the process is asked to end.
   *
   * @param environment what the pod says of itself
   */
  public static void run(Function<String, Optional<String>> environment, Consumer<String> log)
      throws IOException, InterruptedException {
    var namespace = required(environment, "POD_NAMESPACE");
    var pod = required(environment, "POD_NAME");
    var metrics = new Metrics();
    try (var client = KubeClient.open()) {
      var options = options(client, namespace, pod, log);
      var uploads =
          environment.apply(CDI).filter("true"::equals).isPresent()
              ? Webhook.uploads(client, namespace)
              : null;
      var settings =
          new Controller.Settings(
              namespace,
              pod,
              imageGrace(environment),
              options.image(),
              options.pullPolicy(),
              environment.apply(RegistrySettings.NETWORKS),
              uploads == null ? null : uploads::signer);
      try (var webhook = Webhook.start(client, namespace, options, uploads, log);
          var _ =
              MetricsServer.start(new InetSocketAddress(METRICS_PORT), metrics, webhook::ready)) {
        Controller.run(client, settings, metrics);
      }
    }
  }

  private static Duration imageGrace(Function<String, Optional<String>> environment) {
    var text = environment.apply(IMAGE_GRACE).orElse("600");
    if (!text.matches("[0-9]{1,9}")) {
      throw PlatterException.of(
          Code.INVALID, "$" + IMAGE_GRACE + " is '" + text + "'", "It is a number of seconds.");
    }
    return Duration.ofSeconds(Long.parseLong(text));
  }

  /** Waits for the API server: a kubelet starts what ends again later each time. */
  private static LauncherPod.Options options(
      KubernetesClient client, String namespace, String pod, Consumer<String> log)
      throws InterruptedException {
    while (true) {
      try {
        return Webhook.options(client, namespace, pod);
      } catch (KubernetesClientException e) {
        log.accept("waits for the API server: " + e.getMessage());
        Thread.sleep(RETRY);
      }
    }
  }

  private static String required(Function<String, Optional<String>> environment, String name) {
    return environment
        .apply(name)
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.INVALID, "$" + name + " is not set", "'platter install' sets it."));
  }
}
