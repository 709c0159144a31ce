package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pods that come and go on a real cluster, and the disks that stay. */
class IdentityTest {
  private static final String UUID = "1b4d298f-6151-40b0-a1d4-269fc41d48f0";
  private static final String READ = "dd if=$(disk root) bs=1M skip=100 count=1 | head -c 9";
  private static final String WRITE =
      "echo persisted | dd of=$(disk root) bs=1M seek=100 conv=notrunc; sync";

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "statefulsets,pods", "--all", "--timeout=90s");
    shared().kubectl("delete", "vmid,vmidset", "--all", "--timeout=60s");
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
  }

  private static String image() {
    return shared().markerByDigest();
  }

  private static String set(String name, String more) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentitySet
    metadata: {name: %s}
    spec: {image: "virtlet.cloud/%s", type: Local, size: 256Mi%s}
    """
        .formatted(name, image(), more);
  }

  private static String pets(int replicas, String... commands) {
    var script = new StringBuilder();
    for (var command : commands) {
      script.append("#marker: ").append(command).append('\n');
    }
    return """
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: pet}
    spec:
      replicas: %d
      podManagementPolicy: Parallel
      selector: {matchLabels: {app: pet}}
      template:
        metadata:
          labels: {app: pet}
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
            VirtletVMIdentitySet: pets
            VirtletCloudInitUserDataScript: |
              #!/bin/sh
    %s
        spec:
          terminationGracePeriodSeconds: 10
          containers:
          - {name: vm, image: "virtlet.cloud/%s", resources: {limits: {memory: 96Mi}}}
    """
        .formatted(replicas, script.toString().stripTrailing().indent(10), image());
  }

  @Test
  void eachPodOfAStatefulSetHasADiskThatStays() {
    // The pods are there before their set is, and wait for it.
    shared().apply(pets(2, READ + " | grep persisted", WRITE));
    shared()
        .await(
            "no word of the missing set",
            () -> shared().kubectl("get", "events"),
            text -> text.contains("There is no VirtletVMIdentitySet pets"));
    shared()
        .await(
            "the pod does not say what it waits for",
            () -> running("pet-0"),
            text -> text.contains("There is no VirtletVMIdentitySet pets"));
    shared().apply(set("pets", ", firmwareUUID: " + UUID + ", firmwareUUIDPolicy: PerPod"));
    for (var pod : new String[] {"pet-0", "pet-1"}) {
      assertThat(shared().awaitLog(pod, "^@@READY"))
          .containsPattern("@@DISK sda serial=root size=268435456")
          .doesNotContain("@@OUT persisted");
    }
    assertThat(shared().kubectl("get", "vmid"))
        .containsPattern("pet-0 +true +Local +node[12] +pets")
        .containsPattern("pet-1 +true +Local +node[12] +pets");
    var node = shared().kubectl("get", "vmid", "pet-0", "-o", "jsonpath={.status.nodeName}");
    var uuid = uuid("pet-0");
    assertThat(uuid).isNotEqualTo(UUID).isNotEqualTo(uuid("pet-1"));

    // Deleting it waits for its VM.
    shared().kubectl("delete", "vmid", "pet-1", "--wait=false");
    assertThat(shared().kubectl("get", "vmid", "pet-1")).contains("pet-1");

    shared().apply(pets(1, READ));
    shared()
        .await(
            "pet-1 is still there",
            () -> shared().kube().tryKubectl("get", "vmid", "pet-1").err(),
            text -> text.contains("not found"));
    shared().kubectl("delete", "pod", "pet-0", "--timeout=60s");
    assertThat(shared().awaitLog("pet-0", "^@@READY")).contains("@@OUT persisted");
    assertThat(uuid("pet-0")).isEqualTo(uuid);
    assertThat(shared().kubectl("get", "pod", "pet-0", "-o", "jsonpath={.spec.nodeName}"))
        .isEqualTo(node);
  }

  /** What a pod says that its VM waits for. */
  private static String running(String pod) {
    return shared()
        .kubectl(
            "get",
            "pod",
            pod,
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"platter.dev/Running\")].message}");
  }

  private static String pod(String name, int node, String set, String image) {
    return pod(name, node, set, "", image);
  }

  private static String pod(String name, int node, String set, String more, String image) {
    return """
    apiVersion: v1
    kind: Pod
    metadata:
      name: %s
      annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: %s%s}
    spec:
      nodeSelector: {kubernetes.io/hostname: node%d}
      restartPolicy: Never
      terminationGracePeriodSeconds: 5
      containers:
      - {name: vm, image: "virtlet.cloud/%s", resources: {limits: {memory: 96Mi}}}
    ---
    """
        .formatted(name, set, more, node, image);
  }

  /** Wherever it is: on another node, or on the same. */
  @Test
  void oneVmAtATimeHasTheFirmwareUuidAndTheNextWaitsForIt() {
    shared().apply(set("one-uuid", ", firmwareUUID: " + UUID));
    shared().apply(pod("first", 1, "one-uuid", image()));
    assertThat(uuid("first")).isEqualTo(UUID);
    shared()
        .apply(
            pod("elsewhere", 2, "one-uuid", image())
                + pod("beside", 1, "one-uuid", ", VirtletVMIdentityName: other", image()));
    for (var waits : new String[] {"elsewhere", "beside"}) {
      shared()
          .await(
              waits + " does not say who has the UUID",
              () -> running(waits),
              text -> text.contains(UUID) && text.contains("in use by the VM default/first"));
    }
    assertThat(shared().kubectl("get", "vmid"))
        .containsPattern("other +true +Local +node1 +one-uuid")
        .doesNotContain("beside");
    shared().kubectl("delete", "pod", "first", "beside", "--timeout=60s");
    assertThat(uuid("elsewhere")).isEqualTo(UUID);
    assertThat(shared().kubectl("get", "pod", "elsewhere")).containsPattern("Running +0");
  }

  @Test
  void aPodWithAnotherImageThanItsSetSaysSo() {
    shared().apply(set("pets", ""));
    shared().apply(pod("wrong", 1, "pets", image().replaceFirst("[0-9a-f]{64}$", "0".repeat(64))));
    shared()
        .await(
            "the pod does not say what is wrong",
            () -> running("wrong"),
            text -> text.contains("is not that of the VirtletVMIdentitySet pets"));
    assertThat(shared().kube().tryKubectl("get", "vmid", "wrong").err()).contains("not found");
  }

  private static String uuid(String pod) {
    var log = shared().awaitLog(pod, "@@DMI uuid=");
    return log.replaceFirst("(?s).*@@DMI uuid=([0-9a-f-]{36}).*", "$1");
  }

  @Test
  void anIdentityThatSomebodyMadeIsReadyWithoutAPod() {
    shared()
        .apply(
            """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentity
        metadata: {name: by-hand}
        spec: {image: "%s"}
        ---
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentity
        metadata: {name: too-small}
        spec: {image: "%s", size: 1Mi}
        """
                .formatted(image(), image()));
    shared().kubectl("wait", "--for=condition=Ready", "vmid/by-hand", "--timeout=60s");
    shared().kubectl("wait", "--for=condition=Ready=false", "vmid/too-small", "--timeout=60s");
    assertThat(shared().kubectl("get", "vmid", "too-small", "-o", "yaml"))
        .contains("has a size of 1Mi, but its image");
    var node = shared().kubectl("get", "vmid", "by-hand", "-o", "jsonpath={.status.nodeName}");
    var on = shared().kube().node(Integer.parseInt(node.substring("node".length())));
    assertThat(shared().leftOn(on)).contains("-root.qcow2");
    assertThat(shared().kubectl("get", "vmid", "by-hand", "-o", "jsonpath={.status.creationTime}"))
        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ");
    var refused =
        shared()
            .kube()
            .tryKubectl(
                "patch", "vmid", "by-hand", "--type=merge", "-p", "{\"spec\":{\"size\":\"9Gi\"}}");
    assertThat(refused.err()).contains("an identity stays what it is");
    shared().kubectl("delete", "vmid", "by-hand", "--timeout=60s");
    shared().await("left on " + node, () -> shared().leftOn(on), String::isEmpty);
  }

  @Test
  void anIdentityThatSomebodyMadeWaitsForItsDiskFromItsFirstVmOn() {
    shared()
        .apply(
            set("hands", "")
                + """
            ---
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: hand}
            spec: {image: "virtlet.cloud/%1$s", size: 256Mi, identitySet: hands}
            """
                    .formatted(image()));
    shared().kubectl("wait", "--for=condition=Ready", "vmid/hand", "--timeout=60s");
    assertThat(finalizers("hand")).isEmpty();
    shared()
        .apply(
            """
            apiVersion: v1
            kind: Pod
            metadata:
              name: hand
              annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: hands}
            spec:
              terminationGracePeriodSeconds: 10
              containers:
              - {name: vm, image: "virtlet.cloud/%s", resources: {limits: {memory: 96Mi}}}
            """
                .formatted(image()));
    shared().awaitLog("hand", "^@@READY");
    assertThat(finalizers("hand")).contains("platter.dev/disk");
    var node = shared().kubectl("get", "vmid", "hand", "-o", "jsonpath={.status.nodeName}");
    var on = shared().kube().node(Integer.parseInt(node.substring("node".length())));
    shared().kubectl("delete", "vmid", "hand", "--wait=false");
    shared().kubectl("delete", "pod", "hand", "--timeout=60s");
    shared().kubectl("wait", "--for=delete", "vmid/hand", "--timeout=60s");
    assertThat(shared().leftOn(on)).doesNotContain("-root.qcow2");
  }

  private static String finalizers(String name) {
    return shared().kubectl("get", "vmid", name, "-o", "jsonpath={.metadata.finalizers}");
  }

  @Test
  void aPetIsHandledByItsIdentityAlone() {
    var template =
        """
        , autoStart: true, template: {
        metadata: {annotations: {VirtletCloudInitUserDataScript: "#!/bin/sh\\n#marker: echo a pet\\n"}},
        spec: {terminationGracePeriodSeconds: 10, containers: [{name: vm, resources: {limits: {memory: 96Mi}}}]}}\
        """;
    shared()
        .apply(
            set("zoo", template)
                + """
            ---
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: tom}
            spec: {image: "virtlet.cloud/%s", size: 256Mi, identitySet: zoo}
            """
                    .formatted(image()));
    assertThat(shared().awaitLog("tom-0", "^@@READY"))
        .containsPattern("@@DISK sda serial=root size=268435456")
        .contains("@@OUT a pet");
    assertThat(shared().plugin("identity", "ls"))
        .containsPattern("default +tom +zoo +256 MiB +node[12] +true +tom-0 ");
    var node = shared().kubectl("get", "vmid", "tom", "-o", "jsonpath={.status.nodeName}");

    var refused = shared().uninstall();
    assertThat(refused.status()).as(refused.output()).isEqualTo(5);
    assertThat(refused.err()).contains("vmid default/tom");

    // With its identity go the StatefulSet, the VM and the disk.
    shared().kubectl("delete", "vmid", "tom", "--timeout=90s");
    shared()
        .await(
            "something of tom is left",
            () -> shared().kubectl("get", "statefulsets,pods", "-o", "name"),
            String::isEmpty);
    var on = shared().kube().node(Integer.parseInt(node.substring("node".length())));
    shared().await("left on " + node, () -> shared().leftOn(on), String::isEmpty);
  }

  private static String locked(String pullSecrets) {
    return """
    apiVersion: v1
    kind: Pod
    metadata:
      name: private
      annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: private}
    spec:
      nodeSelector: {kubernetes.io/hostname: node1}
      terminationGracePeriodSeconds: 10
      imagePullSecrets: %s
      containers:
      - {name: vm, image: "virtlet.cloud/%s", resources: {limits: {memory: 96Mi}}}
    """
        .formatted(pullSecrets, lockedImage());
  }

  private static String lockedImage() {
    return shared().locked().replaceFirst(":latest$", "@" + shared().lockedDigest());
  }

  @Test
  void aPrivateImageIsPulledWithTheLoginOfThePod() {
    shared().apply(set("private", "").replace(image(), lockedImage()));
    shared().apply(locked("[]"));
    var why =
        shared()
            .await(
                "no word of the login",
                () ->
                    shared()
                        .kubectl("get", "pod", "private", "-o", "jsonpath={.status.conditions}"),
                text -> text.contains("imagePullSecrets"));
    assertThat(why).contains("is not ready");
    shared().kubectl("delete", "pod", "private", "--timeout=60s");
    shared()
        .kubectl(
            "create",
            "secret",
            "docker-registry",
            "login",
            "--docker-server=" + shared().locked().split("/")[0],
            "--docker-username=alice",
            "--docker-password=" + PlatterCluster.ALICE);
    try {
      shared().apply(locked("[{name: login}]"));
      shared().awaitLog("private", "^@@READY");
      assertThat(shared().plugin("identity", "describe", "private", "-o", "json"))
          .contains("\"ready\" : true", "\"private\"");
    } finally {
      shared().kubectl("delete", "secret", "login");
    }
  }

  private static Path file(String yaml) {
    try {
      return Files.writeString(shared().work().resolve("set.yaml"), yaml);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void theServerRefusesIdentitiesThatCannotBe() {
    for (var spec :
        new String[] {
          "image: a:latest",
          "image: %s, storageClassName: fast".formatted(image()),
          "image: %s, type: Remote".formatted(image()),
          "image: %s, firmwareUUIDPolicy: PerPod".formatted(image()),
          "image: %s, firmwareUUID: 12".formatted(image()),
        }) {
      var result =
          shared()
              .kube()
              .tryKubectl(
                  "create",
                  "--dry-run=server",
                  "-f",
                  file(
                      "apiVersion: virtlet.k8s/v1\nkind: VirtletVMIdentitySet\n"
                          + "metadata: {name: bad}\nspec: {"
                          + spec
                          + "}\n"));
      assertThat(result.status()).as(spec + ": " + result.output()).isNotZero();
      assertThat(result.err()).contains("is invalid");
    }
  }
}
