package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Platter at a real API server, with the controller's rights alone. Driver and binder of volumes
 * are here; nobody else is there.
 */
final class ApiCluster implements AutoCloseable {
  private static final String ACCOUNT = "system:serviceaccount:platter-system:platter-controller";

  private final ApiServer api;
  private final KubernetesClient admin;
  private @Nullable KubernetesClient client;
  private @Nullable Controller controller;

  private ApiCluster(ApiServer api, KubernetesClient admin) {
    this.api = api;
    this.admin = admin;
  }

  static ApiCluster start(Path work) throws Exception {
    return start(work, false);
  }

  /**
   * @param cdi whether there are DataVolumes
   */
  static ApiCluster start(Path work, boolean cdi) throws Exception {
    var api = ApiServer.start(work);
    var out = new ApiCluster(api, api.client());
    out.apply(
        Install.yaml(
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
                cdi)));
    // Nobody serves webhooks here.
    api.kubectl("delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "platter");
    if (cdi) {
      api.kubectl("delete", "mutatingwebhookconfiguration", "platter-uploads");
    }
    return out;
  }

  /** Starts the controller. */
  void control(Duration imageGrace) {
    control(imageGrace, null);
  }

  /**
   * @param uploads who signs for clients of CDI; null if there are none
   */
  void control(Duration imageGrace, @Nullable Supplier<Authority> uploads) {
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder(admin.getConfiguration())
                    .withImpersonateUsername(ACCOUNT)
                    .build())
            .build();
    controller =
        Controller.start(
            client,
            new Controller.Settings(
                Install.DEFAULT_NAMESPACE,
                "one",
                imageGrace,
                "platter:1",
                "Never",
                Optional.empty(),
                uploads),
            new Metrics());
  }

  ApiServer api() {
    return api;
  }

  KubernetesClient admin() {
    return admin;
  }

  void apply(String yaml) throws Exception {
    var result = api.apply(yaml);
    assertThat(result.status()).as(result.output()).isZero();
  }

  static <T> T come(Supplier<T> look) {
    return await().atMost(Duration.ofSeconds(60)).until(look::get, it -> it != null);
  }

  String get(String... words) {
    return api.kubectl(Stream.concat(Stream.of("get"), Stream.of(words)).toArray());
  }

  private String filling(String claim) {
    return "platter-fill-" + get("pvc", claim, "-o", "jsonpath={.metadata.uid}");
  }

  /** The one that there is for the claim. */
  Pod pod(String claim) {
    var name = filling(claim);
    return come(
        () -> {
          letGoOfAll();
          return admin.pods().inNamespace("default").withName(name).get();
        });
  }

  /** The prime claim that there is for it. */
  PersistentVolumeClaim prime(String claim) {
    return claim(filling(claim));
  }

  private PersistentVolumeClaim claim(String name) {
    return come(() -> admin.persistentVolumeClaims().inNamespace("default").withName(name).get());
  }

  /** A driver makes a volume for the prime claim, and the binder binds it. */
  void provision(HasMetadata pod) throws Exception {
    var prime = pod.getMetadata().getName();
    var claim = claim(prime);
    apply(
        """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: pv-%1$s}
        spec:
          accessModes: [ReadWriteOnce]
          capacity: {storage: 1Gi}
          storageClassName: fast
          hostPath: {path: /nowhere}
          claimRef: {namespace: default, name: %1$s, uid: %2$s}
        """
            .formatted(prime, claim.getMetadata().getUid()));
    bind(claim, "pv-" + prime);
  }

  private void bind(HasMetadata claim, String volume) {
    var name = claim.getMetadata().getName();
    api.kubectl("patch", "pvc", name, "-p", "spec: {volumeName: " + volume + "}");
    api.kubectl("patch", "pvc", name, "--subresource=status", "-p", "status: {phase: Bound}");
  }

  /** The binder, when the volume is the claim's; then what protects claims lets go. */
  void handOver(String claim, HasMetadata pod) {
    var wanted = claim(claim);
    var prime = pod.getMetadata().getName();
    var volume = "pv-" + prime;
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> get("pv", volume, "-o", "jsonpath={.spec.claimRef.uid}"),
            wanted.getMetadata().getUid()::equals);
    assertThat(get("pv", volume, "-o", "jsonpath={.spec.claimRef.name}")).isEqualTo(claim);
    bind(wanted, volume);
    letGo(prime);
    await().until(() -> get("pods", "-o", "name"), String::isEmpty);
  }

  /** What protects claims lets go when nobody uses them. */
  void letGo(String claim) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> get("pvc", claim, "-o", "jsonpath={.metadata.deletionTimestamp}"),
            text -> !text.isEmpty());
    api.kubectl("patch", "pvc", claim, "--type=merge", "-p", "metadata: {finalizers: null}");
  }

  /** A slow machine may have begun and ended an attempt that the test knows nothing of. */
  private void letGoOfAll() {
    admin.persistentVolumeClaims().inNamespace("default").list().getItems().stream()
        .filter(it -> it.getMetadata().getDeletionTimestamp() != null)
        .map(it -> it.getMetadata().getName())
        .forEach(
            name ->
                api.tryKubectl(
                    "patch", "pvc", name, "--type=merge", "-p", "metadata: {finalizers: null}"));
  }

  @Override
  public void close() {
    for (AutoCloseable open : new AutoCloseable[] {controller, client, admin, api}) {
      try {
        if (open != null) {
          open.close();
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }
}
