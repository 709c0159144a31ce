package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Disks of identities that go to another node, with their pod or on somebody's word. */
class MoveTest {
  private static final String VOLUMES = "/var/lib/platter/pools/volumes";
  private static final String READ = "dd if=$(disk root) bs=1M skip=100 count=1 | head -c 9";
  private static final String WRITE =
      "echo persisted | dd of=$(disk root) bs=1M seek=100 conv=notrunc; sync";

  private final KubeNode first = shared().kube().node(1);
  private final KubeNode second = shared().kube().node(2);

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("uncordon", first.name());
    shared().kubectl("delete", "pods", "--all", "--timeout=90s");
    shared().kubectl("delete", "vmid,vmidset", "--all", "--timeout=60s");
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
  }

  private static String image() {
    return shared().markerByDigest();
  }

  private static String pod(String selector, String command) {
    return """
    apiVersion: v1
    kind: Pod
    metadata:
      name: wanderer
      annotations:
        kubernetes.io/target-runtime: virtlet.cloud
        VirtletVMIdentitySet: wanderers
        VirtletCloudInitUserDataScript: |
          #!/bin/sh
          #marker: %s
    spec:
      %s
      terminationGracePeriodSeconds: 10
      containers:
      - {name: vm, image: "virtlet.cloud/%s", resources: {limits: {memory: 96Mi}}}
    """
        .formatted(command, selector, image());
  }

  private static String get(String name, String path) {
    return shared().kubectl("get", "vmid", name, "-o", "jsonpath={" + path + "}");
  }

  /** The one disk on this node. */
  private static String disk(KubeNode node) {
    return node.exec("sh", "-c", "ls " + VOLUMES + "/*-root.qcow2").strip();
  }

  private static void awaitMoved(String identity, KubeNode from, KubeNode to) {
    shared()
        .await(
            identity + " did not move",
            () -> get(identity, ".status.nodeName"),
            node -> node.equals(to.name()));
    shared()
        .await(
            "left on " + from.name(),
            () -> from.exec("ls", "-A", VOLUMES, "/var/lib/platter/identities/leaving"),
            text -> !text.contains("root.qcow2") && !text.contains(".json"));
    assertThat(get(identity, ".status.ready")).isEqualTo("true");
    assertThat(get(identity, ".status.conditions[*].type")).isEqualTo("Ready");
  }

  @Test
  void aDiskFollowsItsPodToAnotherNode() {
    shared()
        .apply(
            """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: wanderers}
        spec: {image: "%s", size: 256Mi}
        """
                .formatted(image()));
    shared().apply(pod("nodeSelector: {kubernetes.io/hostname: node1}", WRITE));
    shared().awaitLog("wanderer", "^@@READY");
    assertThat(get("wanderer", ".status.nodeName")).isEqualTo("node1");
    shared().kubectl("delete", "pod", "wanderer", "--timeout=60s");

    // The scheduler prefers the node of the disk, and may not use it.
    shared().kubectl("cordon", first.name());
    shared().apply(pod("", READ));
    assertThat(shared().awaitLog("wanderer", "^@@READY")).contains("@@OUT persisted");
    assertThat(shared().kubectl("get", "pod", "wanderer", "-o", "jsonpath={.spec.nodeName}"))
        .isEqualTo("node2");
    assertThat(get("wanderer", ".spec.nodeName")).isEqualTo("node2");
    awaitMoved("wanderer", first, second);

    // Now it is preferred, with nothing in the way of the other.
    shared().kubectl("uncordon", first.name());
    shared().kubectl("delete", "pod", "wanderer", "--timeout=60s");
    second.exec("qemu-img", "check", "-q", disk(second));
    shared().apply(pod("", READ));
    assertThat(shared().awaitLog("wanderer", "^@@READY")).contains("@@OUT persisted");
    assertThat(get("wanderer", ".status.nodeName")).isEqualTo("node2");
  }

  /** Of what was written, all of which is behind the base: that comes when it is wanted. */
  private static String digest(KubeNode node) {
    return node.exec(
        "sh",
        "-c",
        "qemu-img check -q %1$s && qemu-img convert -f qcow2 -O raw %1$s /var/tmp/flat && tail -c +209715201 /var/tmp/flat | sha256sum; rm /var/tmp/flat"
            .formatted(disk(node)));
  }

  /** Returns when some of the disk has come, and not all. */
  private static void awaitSome(KubeNode node, String then) {
    node.exec(
        "timeout",
        60,
        "sh",
        "-c",
        """
        until [ "$(du -sm %s | cut -f1)" -gt 40 ]; do :; done
        %s
        ls /var/lib/platter/identities/coming | grep -q json
        """
            .formatted(VOLUMES, then));
  }

  private static void moveTo(KubeNode node) {
    var change = "{\"spec\":{\"nodeName\":\"%s\"}}".formatted(node.name());
    shared().kubectl("patch", "vmid", "traveller", "--type=merge", "-p", change);
  }

  @Test
  void aMoveWaitsForANodeThatIsAwayAndOutlivesTheDaemonsOfBoth() {
    shared()
        .apply(
            """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentity
        metadata: {name: traveller}
        spec: {image: "%s", size: 1Gi, nodeName: node1}
        """
                .formatted(image()));
    shared().kubectl("wait", "--for=condition=Ready", "vmid/traveller", "--timeout=60s");
    first.exec(
        "sh",
        "-c",
        """
        head -c 400M /dev/urandom > /var/tmp/random
        qemu-io -f qcow2 -c 'write -q -s /var/tmp/random 200M 400M' %s
        rm /var/tmp/random
        """
            .formatted(disk(first)));
    var bytes = digest(first);

    second.exec("ip", "route", "add", "unreachable", first.address());
    try {
      moveTo(second);
      shared()
          .await(
              "no word of the node that is away",
              () -> get("traveller", ".status.conditions[?(@.type=='Placed')].message"),
              text -> text.contains("Its disk is on node1, which did not give it"));
      assertThat(get("traveller", ".status.nodeName")).isEqualTo("node1");
    } finally {
      second.exec("ip", "route", "del", "unreachable", first.address());
    }
    awaitSome(second, "kill -9 $(pgrep -f '[d]ev.platter.cli.Main node --cluster')");
    awaitMoved("traveller", first, second);
    assertThat(digest(second)).isEqualTo(bytes);

    moveTo(first);
    awaitSome(first, "");
    shared().killDaemon(second);
    awaitMoved("traveller", second, first);
    assertThat(digest(first)).isEqualTo(bytes);
  }
}
