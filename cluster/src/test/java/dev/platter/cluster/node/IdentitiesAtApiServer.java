package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.install.ApiServer;
import dev.platter.cluster.install.Install;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.cluster.webhook.WebhookAtApiServer;
import dev.platter.node.Hypervisor;
import dev.platter.node.Machine;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import dev.platter.node.image.Images;
import dev.platter.node.move.Credentials;
import dev.platter.plan.StateLayout;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Identities with a real API server, the controller and the part of a node that makes their disks,
 * each with its own rights; but without kubelets, and with images that are only zeros. What was
 * asked of the API server is read in its own audit log.
 */
final class IdentitiesAtApiServer implements AutoCloseable {
  private static final String DIGEST = "sha256:" + "1".repeat(64);
  static final String IMAGE = "registry.example/disk@" + DIGEST;
  static final String CONTROLLER = "platter-controller";
  static final String NODE = "platter-node";

  private static final Duration PATIENCE = Duration.ofSeconds(40);

  private final Path work;
  private final ApiServer api;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  private IdentitiesAtApiServer(Path work, ApiServer api) {
    this.work = work;
    this.api = keep(api);
  }

  static IdentitiesAtApiServer start(Path work) throws Exception {
    var cluster = new IdentitiesAtApiServer(work, ApiServer.start(work));
    try {
      cluster.start();
    } catch (Exception | Error e) {
      cluster.close();
      throw e;
    }
    return cluster;
  }

  ApiServer api() {
    return api;
  }

  private void start() throws Exception {
    var installed =
        api.apply(
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
                    false)));
    assertThat(installed.status()).as(installed.output()).isZero();
    api.apply(
        """
        apiVersion: v1
        kind: Node
        metadata: {name: node1, labels: {platter.dev/node: "true"}}
        """);
    api.kubectl(
        "patch",
        "node",
        "node1",
        "--subresource=status",
        "-p",
        "status: {conditions: [{type: Ready, status: 'True'}]}");
    var webhook = keep(WebhookAtApiServer.start(api.client()));
    webhook.redirect();
    var node = keep(node());
    var loop = keep(new IdentityLoop(System.err::println));
    var identities = keep(new KubeIdentities(client(NODE), loop::add, System.err::println));
    identities.start().join();
    var mover =
        keep(
            new IdentityMover(
                identities,
                identities,
                "node1",
                node.moves(),
                Credentials.make("node1"),
                IdentityMover.PATIENCE,
                loop::add,
                System.err::println));
    loop.start(
        new IdentityKeeper(
            identities,
            "node1",
            node.identities(),
            mover,
            new IdentityPods(List::of, work),
            loop,
            Duration.ofMinutes(1),
            System.err::println));
    keep(
        Controller.start(
            client(CONTROLLER),
            new Controller.Settings(
                Install.DEFAULT_NAMESPACE,
                "one",
                Duration.ofMinutes(10),
                "platter:1",
                "Never",
                Optional.empty(),
                null),
            new Metrics()));
  }

  private <T extends AutoCloseable> T keep(T opened) {
    open.push(opened);
    return opened;
  }

  /** With the rights of the role, and no others. */
  private KubernetesClient client(String account) throws IOException {
    try (var admin = api.client()) {
      var config =
          new ConfigBuilder(admin.getConfiguration())
              .withImpersonateUsername("system:serviceaccount:platter-system:" + account)
              .withImpersonateExtras(
                  Map.of("authentication.kubernetes.io%2Fnode-name", List.of("node1")))
              .build();
      return keep(new KubernetesClientBuilder().withConfig(config).build());
    }
  }

  private Node node() {
    var layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    var images =
        fake(
            Images.class,
            (_, method, _) ->
                switch (method.getName()) {
                  case "resolve" -> DIGEST;
                  case "sealed" -> true;
                  case "ensure" -> {
                    var base = layout.base(DIGEST);
                    Files.createDirectories(base.getParent());
                    try (var file = new RandomAccessFile(base.toFile(), "rw")) {
                      file.setLength(8 << 20);
                    }
                    yield null;
                  }
                  default -> null;
                });
    var hypervisor = fake(Hypervisor.class, (_, _, _) -> null);
    var machine =
        fake(
            Machine.class,
            (_, method, _) ->
                switch (method.getName()) {
                  case "libvirt" -> "";
                  case "isolated" -> true;
                  case "hypervisor" -> hypervisor;
                  default -> null;
                });
    return new Node(layout, machine, images, Progress.NONE);
  }

  private static <T> T fake(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  static String set(String name, String more) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentitySet
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s"%s}
    ---
    """
        .formatted(name, IMAGE, more);
  }

  static String identity(String name, String set) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentity
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s", identitySet: %s}
    ---
    """
        .formatted(name, IMAGE, set);
  }

  void apply(String namespace, String yaml) throws IOException {
    var result = api.apply(yaml, "-n", namespace);
    assertThat(result.status()).as(result.output()).isZero();
  }

  void eventually(String namespace, String query, Predicate<String> wanted, Object... more)
      throws IOException {
    var words = new ArrayList<Object>(List.of("get", "-n", namespace));
    words.addAll(List.of(more));
    words.addAll(List.of("-o", "jsonpath=" + query));
    try {
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                var result = api.tryKubectl(words.toArray());
                return result.status() == 0 ? result.out() : result.err();
              },
              wanted);
    } catch (ConditionTimeoutException e) {
      throw new AssertionError(String.join("\n", asked(namespace)), e);
    }
  }

  static String condition(String type) {
    return "{.status.conditions[?(@.type==\"%s\")]['status','message']}".formatted(type);
  }

  /** What our accounts have asked for, beside watches and the lease of the leader. */
  List<String> asked(String namespace) throws IOException {
    return api.requests().stream()
        .filter(it -> it.path("impersonatedUser").path("username").asText().contains(":platter-"))
        .filter(it -> !it.path("objectRef").path("resource").asText().equals("leases"))
        .filter(it -> !it.path("verb").asText().matches("watch|list"))
        .filter(
            it ->
                namespace.isEmpty()
                    || it.path("objectRef").path("namespace").asText().equals(namespace))
        .map(IdentitiesAtApiServer::request)
        .toList();
  }

  private static String request(JsonNode event) {
    var account = event.path("impersonatedUser").path("username").asText();
    var about = event.path("objectRef");
    var part = about.path("subresource").asText();
    return "%s %s %s%s%s"
            .formatted(
                account.substring(account.lastIndexOf(':') + 1),
                event.path("verb").asText(),
                about.path("resource").asText(),
                part.isEmpty() ? "" : "/" + part,
                event.path("requestURI").asText().contains("dryRun=All") ? " (dry run)" : "")
        + code(event.path("responseStatus").path("code").asInt());
  }

  private static String code(int code) {
    return code < 300 ? "" : ": " + code;
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
