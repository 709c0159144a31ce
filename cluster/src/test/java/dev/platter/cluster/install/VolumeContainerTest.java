package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.cluster.webhook.WebhookAtApiServer;
import dev.platter.lab.VolumeMaker;
import dev.platter.lab.VolumeStorage;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A container that makes a volume, at a real API server and with a service that is not ours. This
 * test is the kubelet: it runs what the pod says, with what the pod's Secret holds.
 */
class VolumeContainerTest {
  private static final String ADDRESS = "127.0.0.1";
  private static final String ACCOUNT = "system:serviceaccount:platter-system:platter-controller";

  @TempDir Path work;

  private static String yaml() {
    return Install.yaml(
        new Install.Options(
            Install.DEFAULT_NAMESPACE,
            "registry.example/platter:1",
            "IfNotPresent",
            List.of(),
            "loop*",
            Install.ImageBounds.NONE,
            List.of(),
            Install.DEFAULT_KUBELET_ROOT,
            false,
            false));
  }

  /** With the rights of the role, and no others. */
  private static KubernetesClient asController(KubernetesClient admin) {
    var config =
        new ConfigBuilder(admin.getConfiguration()).withImpersonateUsername(ACCOUNT).build();
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  @Test
  void itsAnswerIsInTheVmsPodAndItsVolumeGoesWithTheVm() throws Exception {
    try (var api = ApiServer.start(work);
        var storage = new VolumeStorage();
        var admin = api.client()) {
      assertThat(api.apply(yaml()).status()).isZero();
      try (var webhook = WebhookAtApiServer.start(api.client());
          var client = asController(admin);
          var _ =
              Controller.start(
                  client,
                  new Controller.Settings(
                      Install.DEFAULT_NAMESPACE,
                      "one",
                      Duration.ofMinutes(10),
                      "platter:1",
                      "Never",
                      Optional.empty(),
                      null),
                  new Metrics())) {
        webhook.redirect();
        var made = api.apply(objects(storage.port()));
        assertThat(made.status()).as(made.output()).isZero();
        var pod =
            await(
                () ->
                    admin
                        .pods()
                        .inNamespace("default")
                        .withLabel("platter.dev/source-of", "dynamic")
                        .list()
                        .getItems()
                        .stream()
                        .findFirst()
                        .orElse(null));
        var service = run(admin, pod);
        try {
          api.kubectl(
              "patch",
              "pod",
              pod.getMetadata().getName(),
              "--subresource=status",
              "-p",
              "status: {phase: Running, podIP: %1$s, podIPs: [{ip: %1$s}],".formatted(ADDRESS)
                  + " conditions: [{type: Ready, status: 'True'}]}");
          var launcher = await(() -> admin.pods().inNamespace("default").withName("dynamic").get());
          assertThat(launcher.getMetadata().getAnnotations().get("platter.dev/vm"))
              .contains("{\"pvc\":{\"claimname\":\"made-for-you\"}}")
              .doesNotContain("volume-maker");
          assertThat(launcher.getSpec().getVolumes().toString()).contains("made-for-you");
          assertThat(storage.made).hasSize(1);
          assertThat(api.kubectl("get", "vm", "dynamic", "-o", "jsonpath={.status.sources}"))
              .contains(storage.made.getFirst(), "made-for-you");

          api.kubectl("delete", "vm", "dynamic", "--timeout=60s");
          assertThat(storage.deleted).isEqualTo(storage.made);
          assertThat(api.kubectl("get", "pods", "-o", "name")).isEmpty();
        } finally {
          service.destroyForcibly().waitFor();
        }
      }
    }
  }

  private static String objects(int storage) throws IOException {
    int port;
    try (var free = new ServerSocket(0, 1, InetAddress.getByName(ADDRESS))) {
      port = free.getLocalPort();
    }
    return """
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: made-for-you}
        spec:
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 64Mi}}
        ---
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: dynamic}
        spec:
          domain:
            devices:
              disks:
              - source: {image: registry.example/debian:12}
              - name: data
                source:
                  container:
                    image: volume-maker
                    env: [{name: STORAGE, value: "%d"}]
                    ports: [{containerPort: %d}]
        """
        .formatted(storage, port);
  }

  private Process run(KubernetesClient admin, Pod pod) throws IOException {
    var volume = pod.getSpec().getVolumes().getFirst().getSecret().getSecretName();
    var secret = await(() -> admin.secrets().inNamespace("default").withName(volume).get());
    var tls = Files.createDirectory(work.resolve("tls"));
    for (var file : secret.getData().entrySet()) {
      Files.write(tls.resolve(file.getKey()), Base64.getDecoder().decode(file.getValue()));
    }
    var script = work.resolve("volume-maker.py");
    try (var in = VolumeMaker.class.getResourceAsStream("volume-maker.py")) {
      Files.copy(Objects.requireNonNull(in), script);
    }
    var builder = new ProcessBuilder("/usr/bin/python3", "-S", script.toString()).inheritIO();
    Map<String, String> environment = builder.environment();
    for (EnvVar variable : pod.getSpec().getContainers().getFirst().getEnv()) {
      environment.put(
          variable.getName(), variable.getValue() == null ? ADDRESS : variable.getValue());
    }
    environment.put("PLATTER_TLS", tls.toString());
    return builder.start();
  }

  private static <T> T await(Supplier<T> look) {
    var until = System.nanoTime() + 60_000_000_000L;
    while (System.nanoTime() < until) {
      var found = look.get();
      if (found != null) {
        return found;
      }
      try {
        Thread.sleep(100);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    throw new AssertionError("it did not come");
  }
}
