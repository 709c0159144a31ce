package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.ClusterIdentities;
import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.install.ApiServer;
import dev.platter.cluster.install.Install;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.cluster.webhook.WebhookAtApiServer;
import dev.platter.model.ImageLogins;
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
import java.util.function.Predicate;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Identities with a real API server, the controller and the part of a node that makes their disks,
 * each with its own rights; but without kubelets, and with images that are only zeros. What was
 * asked of the API server is read in its own audit log.
 */
class IdentitiesAtApiServerTest {
  private static final String DIGEST = "sha256:" + "1".repeat(64);
  private static final String IMAGE = "registry.example/disk@" + DIGEST;
  private static final String CONTROLLER = "platter-controller";
  private static final String NODE = "platter-node";

  private static final Duration PATIENCE = Duration.ofSeconds(40);

  /** Longer than it takes a node to look at all that it has. */
  private static final Duration QUIET = Duration.ofSeconds(12);

  @TempDir static Path work;
  private static final Deque<AutoCloseable> open = new ArrayDeque<>();
  private static ApiServer api;

  @BeforeAll
  static void start() throws Exception {
    api = keep(ApiServer.start(work));
    var installed =
        api.apply(
            Install.yaml(
                new Install.Options(
                    Install.DEFAULT_NAMESPACE,
                    "registry.example/platter:1",
                    "IfNotPresent",
                    List.of(),
                    "loop*",
                    List.of(),
                    Install.DEFAULT_KUBELET_ROOT,
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
                loop::add,
                System.err::println));
    loop.start(
        new IdentityKeeper(
            identities,
            "node1",
            node.identities(),
            mover,
            _ -> ImageLogins.NONE,
            System.err::println));
    keep(
        Controller.start(
            client(CONTROLLER),
            Install.DEFAULT_NAMESPACE,
            "one",
            Duration.ofMinutes(10),
            new Metrics()));
  }

  private static <T extends AutoCloseable> T keep(T opened) {
    open.push(opened);
    return opened;
  }

  @AfterAll
  static void stop() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }

  /** With the rights of the role, and no others. */
  private static KubernetesClient client(String account) throws IOException {
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

  private static Node node() {
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

  private static String set(String name, String more) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentitySet
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s"%s}
    ---
    """
        .formatted(name, IMAGE, more);
  }

  private static String identity(String name, String set) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentity
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s", identitySet: %s}
    ---
    """
        .formatted(name, IMAGE, set);
  }

  private static String pod(String spec) {
    return ", autoStart: true, template: {metadata: {labels: {app: zoo}}, spec: " + spec + "}";
  }

  private static final String GOOD =
      pod("{containers: [{name: vm, resources: {limits: {memory: 64Mi}}}]}");

  private static void apply(String namespace, String yaml) throws IOException {
    var result = api.apply(yaml, "-n", namespace);
    assertThat(result.status()).as(result.output()).isZero();
  }

  private static void eventually(
      String namespace, String query, Predicate<String> wanted, Object... more) throws IOException {
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

  private static String condition(String type) {
    return "{.status.conditions[?(@.type==\"%s\")]['status','message']}".formatted(type);
  }

  /** What our accounts have asked for, beside watches and the lease of the leader. */
  private static List<String> asked(String namespace) throws IOException {
    return api.requests().stream()
        .filter(it -> it.path("impersonatedUser").path("username").asText().contains(":platter-"))
        .filter(it -> !it.path("objectRef").path("resource").asText().equals("leases"))
        .filter(it -> !it.path("verb").asText().matches("watch|list"))
        .filter(
            it ->
                namespace.isEmpty()
                    || it.path("objectRef").path("namespace").asText().equals(namespace))
        .map(IdentitiesAtApiServerTest::request)
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

  @Test
  void anIdentityCostsOneChangeOfItsStatusAndThenNothing() throws Exception {
    api.kubectl("create", "namespace", "counted");
    var yaml = new StringBuilder(set("counted", ""));
    for (var i = 0; i < 20; i++) {
      yaml.append(identity("id-" + i, "counted"));
    }
    apply("counted", yaml.toString());
    api.kubectl("wait", "-n", "counted", "--for=condition=Ready", "vmid", "--all", "--timeout=60s");
    assertThat(asked("counted"))
        .hasSize(20)
        .containsOnly(NODE + " patch virtletvmidentities/status");

    // One that a pod wants.
    apply(
        "counted",
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: wants
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: counted}
        spec: {nodeName: node1, containers: [{name: vm, image: "virtlet.cloud/%s"}]}
        """
            .formatted(IMAGE));
    eventually("counted", condition("Ready"), text -> text.contains("True"), "vmid", "wants");
    assertThat(asked("counted").subList(20, asked("counted").size()))
        .containsExactly(
            CONTROLLER + " create virtletvmidentities", NODE + " patch virtletvmidentities/status");

    var before = asked("");
    Thread.sleep(QUIET);
    assertThat(asked("")).isEqualTo(before);
  }

  @Test
  void aPetIsAStatefulSetThatFollowsItsIdentity() throws Exception {
    api.kubectl("create", "namespace", "zoo");
    // The identity by hand, and its set a moment later.
    apply("zoo", identity("cat", "pets") + set("pets", GOOD));
    eventually("zoo", condition("AutoStarted"), text -> text.startsWith("True"), "vmid", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset", "cat", "-o", "json"))
        .contains("\"VirtletVMIdentityName\": \"cat\"")
        .contains("\"image\": \"virtlet.cloud/" + IMAGE);
    assertThat(asked("zoo"))
        .contains(CONTROLLER + " create pods (dry run)", CONTROLLER + " patch statefulsets")
        .hasSizeLessThanOrEqualTo(5);

    // What users do to it is undone.
    api.kubectl("scale", "-n", "zoo", "statefulset", "cat", "--replicas=3");
    eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");
    api.kubectl("delete", "-n", "zoo", "statefulset", "cat");
    eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");

    // What is wrong with a template is said, and the StatefulSet stays as it was.
    apply("zoo", set("pets", pod("{containers: [{name: vm}], hostNetwork: true}")));
    eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("spec.hostNetwork cannot be given"),
        "vmid",
        "cat");
    apply("zoo", set("pets", pod("{containers: [{name: vm}], restartPolicy: Never}")));
    eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("restartPolicy"),
        "vmid",
        "cat");
    apply("zoo", set("pets", pod("{containers: [{name: vm}], nodeSelektor: {}}")));
    eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("nodeSelektor"),
        "vmid",
        "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset", "cat", "-o", "yaml"))
        .contains("memory: 64Mi");

    // Without autoStart the VM stops, and the disk stays.
    apply("zoo", set("pets", ", autoStart: false"));
    eventually("zoo", "{.spec.replicas}", text -> text.contains("not found"), "statefulset", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "vmid", "cat")).containsPattern("cat +true");
    apply("zoo", set("pets", GOOD));
    eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");

    // A set that is gone stops nothing.
    api.kubectl("delete", "-n", "zoo", "vmidset", "pets");
    eventually("zoo", condition("SetFound"), text -> text.startsWith("False"), "vmid", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "events")).containsOnlyOnce("SetGone");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset")).contains("cat");
    assertThat(api.kubectl("get", "-n", "zoo", "vmid", "cat")).containsPattern("cat +true");

    // There is no garbage collector here: it is the controller that ends the VM. No VM runs, so
    // that something else has to keep the identity until it has.
    api.kubectl("patch", "-n", "zoo", "vmid", "cat", "--type=json", "-p", finalizer("add"));
    api.kubectl("delete", "-n", "zoo", "vmid", "cat", "--wait=false");
    eventually("zoo", "{.spec.replicas}", text -> text.contains("not found"), "statefulset", "cat");
    eventually("zoo", "{.metadata.finalizers}", "[\"test.example/hold\"]"::equals, "vmid", "cat");
    api.kubectl("patch", "-n", "zoo", "vmid", "cat", "--type=json", "-p", finalizer("remove"));
    eventually("zoo", "{}", text -> text.contains("not found"), "vmid", "cat");
  }

  private static String finalizer(String operation) {
    return operation.equals("add")
        ? "[{\"op\": \"add\", \"path\": \"/metadata/finalizers/0\", \"value\": \"test.example/hold\"}]"
        : "[{\"op\": \"remove\", \"path\": \"/metadata/finalizers/0\"}]";
  }

  @Test
  void theirOwnersListMoveAndRemoveThem() throws IOException {
    api.kubectl("create", "namespace", "owned");
    apply("owned", set("mine", "") + identity("one", "mine") + identity("two", "mine"));
    api.kubectl("wait", "-n", "owned", "--for=condition=Ready", "vmid", "--all", "--timeout=60s");
    apply(
        "owned",
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: one
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: mine}
        spec: {nodeName: node1, containers: [{name: vm, image: "virtlet.cloud/%s"}]}
        """
            .formatted(IMAGE));
    try (var cluster = new ClusterIdentities(api.client())) {
      assertThat(cluster.list("owned"))
          .extracting(it -> it.identity().getMetadata().getName() + it.usedBy() + it.pets())
          .containsExactly("one[one][]", "two[][]");
      assertThat(cluster.list(null)).hasSizeGreaterThanOrEqualTo(2);
      assertThat(cluster.find("owned", "three")).isEmpty();
      for (Runnable refused :
          List.<Runnable>of(
              () -> cluster.move("owned", "one", "node1"), () -> cluster.remove("owned", "one"))) {
        assertThatThrownBy(refused::run).hasMessageContaining("in use by the pod one");
      }
      assertThatThrownBy(() -> cluster.move("owned", "two", "nowhere"))
          .hasMessageContaining("no node nowhere");
      assertThatThrownBy(() -> cluster.remove("owned", "three"))
          .hasMessageContaining("no identity owned/three");
      cluster.move("owned", "two", "node1");
      assertThat(cluster.find("owned", "two").orElseThrow().identity().wantedNode())
          .isEqualTo("node1");
      cluster.remove("owned", "two");
      eventually("owned", "{}", text -> text.contains("not found"), "vmid", "two");
    }
  }

  @Test
  void whoStartsIdentitiesSaysHow() throws IOException {
    assertThat(api.apply(set("none", ", autoStart: true"), "--dry-run=server").err())
        .contains("autoStart needs a template");
    assertThat(api.apply(set("none", ", autoStart: true, template: {}"), "--dry-run=server").err())
        .contains("spec.template.spec: Required value");
  }
}
