package dev.platter.cluster.node;

import static dev.platter.cluster.node.IdentitiesAtApiServer.CONTROLLER;
import static dev.platter.cluster.node.IdentitiesAtApiServer.IMAGE;
import static dev.platter.cluster.node.IdentitiesAtApiServer.NODE;
import static dev.platter.cluster.node.IdentitiesAtApiServer.condition;
import static dev.platter.cluster.node.IdentitiesAtApiServer.identity;
import static dev.platter.cluster.node.IdentitiesAtApiServer.set;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.ClusterIdentities;
import dev.platter.cluster.install.ApiServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of identities, and what the API server is asked for it. */
class IdentitiesAtApiServerTest {
  /** Longer than it takes a node to look at all that it has. */
  private static final Duration QUIET = Duration.ofSeconds(12);

  @TempDir static Path work;
  private static IdentitiesAtApiServer cluster;
  private static ApiServer api;

  @BeforeAll
  static void start() throws Exception {
    cluster = IdentitiesAtApiServer.start(work);
    api = cluster.api();
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
  }

  private static String pod(String spec) {
    return ", autoStart: true, template: {metadata: {labels: {app: zoo}}, spec: " + spec + "}";
  }

  private static final String GOOD =
      pod("{containers: [{name: vm, resources: {limits: {memory: 64Mi}}}]}");

  @Test
  void anIdentityCostsOneChangeOfItsStatusAndThenNothing() throws Exception {
    api.kubectl("create", "namespace", "counted");
    var yaml = new StringBuilder(set("counted", ""));
    for (var i = 0; i < 20; i++) {
      yaml.append(identity("id-" + i, "counted"));
    }
    cluster.apply("counted", yaml.toString());
    api.kubectl("wait", "-n", "counted", "--for=condition=Ready", "vmid", "--all", "--timeout=60s");
    assertThat(cluster.asked("counted"))
        .hasSize(20)
        .containsOnly(NODE + " patch virtletvmidentities/status");

    // One that a pod wants.
    cluster.apply(
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
    cluster.eventually(
        "counted", condition("Ready"), text -> text.contains("True"), "vmid", "wants");
    assertThat(cluster.asked("counted").subList(20, cluster.asked("counted").size()))
        .containsExactly(
            CONTROLLER + " create virtletvmidentities", NODE + " patch virtletvmidentities/status");

    var before = cluster.asked("");
    Thread.sleep(QUIET);
    assertThat(cluster.asked("")).isEqualTo(before);
  }

  @Test
  void aPetIsAStatefulSetThatFollowsItsIdentity() throws Exception {
    api.kubectl("create", "namespace", "zoo");
    // The identity by hand, and its set a moment later.
    cluster.apply("zoo", identity("cat", "pets") + set("pets", GOOD));
    cluster.eventually(
        "zoo", condition("AutoStarted"), text -> text.startsWith("True"), "vmid", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset", "cat", "-o", "json"))
        .contains("\"VirtletVMIdentityName\": \"cat\"")
        .contains("\"image\": \"virtlet.cloud/" + IMAGE);
    assertThat(cluster.asked("zoo"))
        .contains(CONTROLLER + " create pods (dry run)", CONTROLLER + " patch statefulsets")
        .hasSizeLessThanOrEqualTo(5);

    // What users do to it is undone.
    api.kubectl("scale", "-n", "zoo", "statefulset", "cat", "--replicas=3");
    cluster.eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");
    api.kubectl("delete", "-n", "zoo", "statefulset", "cat");
    cluster.eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");

    // What is wrong with a template is said, and the StatefulSet stays as it was.
    cluster.apply("zoo", set("pets", pod("{containers: [{name: vm}], hostNetwork: true}")));
    cluster.eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("spec.hostNetwork cannot be given"),
        "vmid",
        "cat");
    cluster.apply("zoo", set("pets", pod("{containers: [{name: vm}], restartPolicy: Never}")));
    cluster.eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("restartPolicy"),
        "vmid",
        "cat");
    cluster.apply("zoo", set("pets", pod("{containers: [{name: vm}], nodeSelektor: {}}")));
    cluster.eventually(
        "zoo",
        condition("AutoStarted"),
        text -> text.startsWith("False") && text.contains("nodeSelektor"),
        "vmid",
        "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset", "cat", "-o", "yaml"))
        .contains("memory: 64Mi");

    // Without autoStart the VM stops, and the disk stays.
    cluster.apply("zoo", set("pets", ", autoStart: false"));
    cluster.eventually(
        "zoo", "{.spec.replicas}", text -> text.contains("not found"), "statefulset", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "vmid", "cat")).containsPattern("cat +true");
    cluster.apply("zoo", set("pets", GOOD));
    cluster.eventually("zoo", "{.spec.replicas}", "1"::equals, "statefulset", "cat");

    // A set that is gone stops nothing.
    api.kubectl("delete", "-n", "zoo", "vmidset", "pets");
    cluster.eventually(
        "zoo", condition("SetFound"), text -> text.startsWith("False"), "vmid", "cat");
    assertThat(api.kubectl("get", "-n", "zoo", "events")).containsOnlyOnce("SetGone");
    assertThat(api.kubectl("get", "-n", "zoo", "statefulset")).contains("cat");
    assertThat(api.kubectl("get", "-n", "zoo", "vmid", "cat")).containsPattern("cat +true");

    // There is no garbage collector here: it is the controller that ends the VM. No VM runs, so
    // that something else has to keep the identity until it has.
    api.kubectl("patch", "-n", "zoo", "vmid", "cat", "--type=json", "-p", finalizer("add"));
    api.kubectl("delete", "-n", "zoo", "vmid", "cat", "--wait=false");
    cluster.eventually(
        "zoo", "{.spec.replicas}", text -> text.contains("not found"), "statefulset", "cat");
    cluster.eventually(
        "zoo", "{.metadata.finalizers}", "[\"test.example/hold\"]"::equals, "vmid", "cat");
    api.kubectl("patch", "-n", "zoo", "vmid", "cat", "--type=json", "-p", finalizer("remove"));
    cluster.eventually("zoo", "{}", text -> text.contains("not found"), "vmid", "cat");
  }

  private static String finalizer(String operation) {
    return operation.equals("add")
        ? "[{\"op\": \"add\", \"path\": \"/metadata/finalizers\", \"value\": [\"test.example/hold\"]}]"
        : "[{\"op\": \"remove\", \"path\": \"/metadata/finalizers/0\"}]";
  }

  @Test
  void theirOwnersListMoveAndRemoveThem() throws IOException {
    api.kubectl("create", "namespace", "owned");
    cluster.apply("owned", set("mine", "") + identity("one", "mine") + identity("two", "mine"));
    api.kubectl("wait", "-n", "owned", "--for=condition=Ready", "vmid", "--all", "--timeout=60s");
    cluster.apply(
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
    try (var owner = new ClusterIdentities(api.client())) {
      assertThat(owner.list("owned"))
          .extracting(it -> it.identity().getMetadata().getName() + it.usedBy() + it.pets())
          .containsExactly("one[one][]", "two[][]");
      assertThat(owner.list(null)).hasSizeGreaterThanOrEqualTo(2);
      assertThat(owner.find("owned", "three")).isEmpty();
      for (Runnable refused :
          List.<Runnable>of(
              () -> owner.move("owned", "one", "node1"), () -> owner.remove("owned", "one"))) {
        assertThatThrownBy(refused::run).hasMessageContaining("in use by the pod one");
      }
      assertThatThrownBy(() -> owner.move("owned", "two", "nowhere"))
          .hasMessageContaining("no node nowhere");
      assertThatThrownBy(() -> owner.remove("owned", "three"))
          .hasMessageContaining("no identity owned/three");
      owner.move("owned", "two", "node1");
      assertThat(owner.find("owned", "two").orElseThrow().identity().wantedNode())
          .isEqualTo("node1");
      owner.remove("owned", "two");
      cluster.eventually("owned", "{}", text -> text.contains("not found"), "vmid", "two");
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
