package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.KubeConfig;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.webhook.WebhookAtApiServer;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a real API server says to our objects, and to those of our users. */
class ApiServerTest {
  private static final Path EXAMPLES = Path.of(System.getProperty("repo.root"), "examples");

  @TempDir static Path work;
  private static ApiServer api;
  private static WebhookAtApiServer webhook;
  private static Shell.Result again;

  private static String yaml() {
    return Install.yaml(
        new Install.Options(
            Install.DEFAULT_NAMESPACE,
            "registry.example/platter:1",
            "IfNotPresent",
            List.of(Install.PoolOption.parse("fast=/storage/ssd:100Gi")),
            "loop*",
            Install.ImageBounds.NONE,
            List.of("pull"),
            Install.DEFAULT_KUBELET_ROOT,
            false,
            false));
  }

  @BeforeAll
  static void install() throws Exception {
    api = ApiServer.start(work);
    var first = api.apply(yaml());
    assertThat(first.status()).as(first.output()).isZero();
    webhook = WebhookAtApiServer.start(api.client());
    again = api.apply(yaml());
    webhook.redirect();
    // Nothing keeps it from being removed again.
    Uninstall.refuseIfInUse(api.client());
  }

  @AfterAll
  static void stop() {
    if (webhook != null) {
      webhook.close();
    }
    if (api != null) {
      api.close();
    }
  }

  @Test
  void appliedAgainItChangesNothingAndTheCertificateStays() {
    assertThat(again.err()).isEmpty();
    // kubectl replaces the selector of a budget each time, whatever it is.
    assertThat(again.out().lines().filter(line -> !line.contains("poddisruptionbudget")))
        .hasSizeGreaterThan(20)
        .allMatch(line -> line.endsWith("unchanged"));
    for (var kind : List.of("mutatingwebhookconfiguration", "validatingwebhookconfiguration")) {
      assertThat(
              api.kubectl(
                  "get", kind, "platter", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}"))
          .isNotEmpty();
    }
  }

  @Test
  void everyVmOfTheExamplesPassesTheSchema() throws IOException {
    var checked = new ArrayList<String>();
    try (var files = Files.list(EXAMPLES)) {
      for (var file : files.filter(Files::isRegularFile).sorted().toList()) {
        var text = Files.readString(file);
        if (text.lines().noneMatch(line -> line.startsWith("kind:"))) {
          continue;
        }
        try (var all = Serialization.yamlMapper().readerFor(JsonNode.class).readValues(text)) {
          while (all.hasNext()) {
            var vm = (JsonNode) all.next();
            if (!vm.path("kind").asText().matches("VM|VirtualMachine")
                || vm.path("apiVersion").asText().startsWith("kubevirt.io/")) {
              continue;
            }
            var name = file.getFileName().toString().replace(".yaml", "");
            var spec = Serialization.jsonMapper().writeValueAsString(vm.get("spec"));
            var result = api.apply(vm(name, spec), "--dry-run=server");
            // Past the schema there is the webhook, which may refuse what is a tenant's not to use.
            if (result.status() != 0) {
              assertThat(result.err()).contains("virtualmachines.platter.dev").contains("disk ");
            }
            checked.add(name);
          }
        }
      }
    }
    assertThat(checked).hasSizeGreaterThan(6).contains("debian-web", "network-disks");
  }

  private static String vm(String name, String spec) {
    return """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: %s}
        spec: %s
        """
        .formatted(name, spec);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1Mi | 1 | {source: {image: a}} | a guest needs 16Mi at least",
        "100 | 1 | {source: {image: a}} | a guest needs 16Mi at least",
        "1Gi | 300 | {source: {image: a}} | expected a whole number from 1 to 255",
        "1Gi | 1 | {source: {image: a, pvc: b}} | must validate one and only one schema",
        "1Gi | 1 | {source: {}} | source.image: Required value",
        "1Gi | 1 | {source: {image: a}, access-mode: write-shared} | write-shared means",
        "1Gi | 1 | {source: {pvc: a}, size: 1Gi} | a disk used in place",
        "1Gi | 1 | {source: {blank: {}}} | a blank disk needs a size",
        "1Gi | 1 | {source: {image: a}, copy: {mode: none}} | an image is immutable",
        "1Gi | 1 | {source: {image: a}, target: {bus: virtio, device: sda}} | not on this bus",
        "1Gi | 1 | {source: {image: a}, driver: {name: qemu}} | only a claim has a driver",
        "1Gi | 1 | {source: {pvc: a}, persistent: b} | only an image is written to a claim",
        "1Gi | 1 | {source: {image: a}, persistent: b, copy: {mode: clone}} | is the claim itself",
        "1Gi | 1 | {source: {image: a}, persistent: b, access-mode: read-only} | is the claim itself",
        "1Gi | 1 | {source: {image: a}, persistent: b, size: 1Gi} | a disk used in place",
        "1Gi | 1 | {source: {image: a}, persistent: B} | should match",
        "1Gi | 1 | {source: {pvc: a}, serve: iscsi} | only an image serves itself",
        "1Gi | 1 | {source: {image: a}, serve: iscsi, keep: true} | a served disk is as large",
        "1Gi | 1 | {source: {image: a}, serve: iscsi, copy: {mode: clone}} | a served disk is as large",
        "1Gi | 1 | {source: {image: a}, serve: nbd} | Unsupported value",
        "1Gi | 1 | {source: {image: a}, sise: 1Gi} | unknown field",
        "1Gi | 1 | {name: cloud-init, source: {image: a}} | the name of the cloud-init disk",
        "1Gi | 1 | '{name: x, source: {image: a}}, {name: x, source: {image: b}}' | two disks have one name",
        // These are the webhook's.
        "1Gi | 1 | {source: {file: /etc/shadow}} | a file source is a path on a node",
        "1Gi | 1 | {source: {http: 'http://a.example/d'}, access-mode: write-exclusive} | can only be read",
      })
  void whatCannotWorkIsRefused(String memory, String cores, String disk, String why)
      throws IOException {
    var spec =
        "{domain: {memory: {guest: %s}, cpu: {cores: %s}, devices: {disks: [%s]}}}"
            .formatted(memory, cores, disk);
    var result = api.apply(vm("wrong", spec), "--dry-run=server");
    assertThat(result.status()).isNotZero();
    assertThat(result.err()).contains(why);
  }

  private static String pod(String name, String metadata) {
    return """
        apiVersion: v1
        kind: Pod
        metadata: {name: %s, namespace: tenant, %s}
        spec: {containers: [{name: c, image: virtlet.cloud/cirros}]}
        """
        .formatted(name, metadata);
  }

  private static final String VM = "annotations: {kubernetes.io/target-runtime: virtlet.cloud}";

  @Test
  void anAnnotatedPodBecomesALauncherPodThatEvenTheRestrictedProfileTakes() throws IOException {
    api.kubectl("create", "namespace", "tenant");
    api.kubectl("label", "namespace", "tenant", "pod-security.kubernetes.io/enforce=restricted");
    var made = api.apply(pod("vm", VM));
    assertThat(made.status()).as(made.output()).isZero();
    assertThat(
            api.kubectl(
                "get", "pod", "vm", "-n", "tenant", "-o", "jsonpath={.spec.containers[0].image}"))
        .isEqualTo("registry.example/platter:1");
    assertThat(
            api.tryKubectl("annotate", "pod", "vm", "-n", "tenant", "VirtletDiskDriver=scsi").err())
        .contains("annotations that say what the VM is cannot be changed");
    assertThat(api.tryKubectl("label", "pod", "vm", "-n", "tenant", "platter.dev/launcher-").err())
        .contains("a pod is a VM from the start and for good");
    assertThat(api.tryKubectl("label", "pod", "vm", "-n", "tenant", "a=b").status()).isZero();
    assertThat(api.apply(pod("forged", "labels: {platter.dev/launcher: 'true'}")).err())
        .contains("only a pod with the annotation");
    webhook.down(
        () -> {
          assertThat(api.apply(pod("vm2", VM)).err()).contains("failed calling webhook");
          var plain = api.apply(pod("plain", "").replace("tenant", "default"));
          assertThat(plain.status()).as(plain.output()).isZero();
        });
  }

  @ParameterizedTest
  @CsvSource({
    "node, get, secrets, no",
    "node, list, configmaps, no",
    "node, create, pods, no",
    "node, list, pods, yes",
    "node, update, leases.coordination.k8s.io, no",
    "node, update, persistentvolumeclaims, no",
    "node, patch, virtualmachines.platter.dev/status, yes",
    "controller, get, secrets, no",
    "controller, delete, secrets, no",
    "controller, create, secrets, yes",
    "controller, create, pods, yes",
    "controller, patch, statefulsets.apps, yes",
    "controller, update, statefulsets.apps, no",
    "controller, create, deployments.apps, no",
    "controller, patch, virtletvmidentities.virtlet.k8s/status, yes",
    "controller, delete, virtletvmidentities.virtlet.k8s, no",
    "node, patch, statefulsets.apps, no",
    "controller, patch, mutatingwebhookconfigurations.admissionregistration.k8s.io/other, no",
    "controller, patch, mutatingwebhookconfigurations.admissionregistration.k8s.io/platter, yes",
  })
  void eachRoleCanDoWhatItNeedsInUsersNamespacesAndNoMore(
      String role, String verb, String resource, String answer) {
    var account = "system:serviceaccount:platter-system:platter-" + role;
    var result = api.tryKubectl("auth", "can-i", verb, resource, "--as=" + account);
    assertThat(result.out().strip()).isEqualTo(answer);
  }

  @Test
  void aNodesDaemonSaysWhatTheDisksOfItsOwnVmsAreAndNothingElse() throws IOException {
    var made = api.apply(vm("told", "{domain: {devices: {disks: [{source: {image: a}}]}}}"));
    assertThat(made.status()).as(made.output()).isZero();
    assertThat(status("{nodeName: node1, phase: Running}", List.of()).status()).isZero();
    var disks = "{disks: [{name: sda, percent: 40}]}";
    var told = status(disks, daemon("node1"));
    assertThat(told.status()).as(told.output()).isZero();
    var why = "says of a VM's status what the disks are, and only of VMs of its own node";
    assertThat(status("{phase: Stopped}", daemon("node1")).err()).contains(why);
    assertThat(status("{disks: []}", daemon("node2")).err()).contains(why);
    assertThat(api.kubectl("get", "vm", "told", "-o", "wide")).containsPattern("sda .*40");
    api.kubectl("delete", "vm", "told");
  }

  @Test
  void aNodeTakesTheVmThatWasHandedToItAndNoOther() throws IOException {
    var made = api.apply(vm("told", "{domain: {devices: {disks: [{source: {image: a}}]}}}"));
    assertThat(made.status()).as(made.output()).isZero();
    assertThat(status("{nodeName: node1, phase: Running}", List.of()).status()).isZero();
    var why = "it takes a VM that was handed to it, and no other";
    var take = "{nodeName: node2, podName: told-1, movedTo: told-1, handedTo: null}";
    var hand = "{handedTo: {podName: told-1, nodeName: node2}}";
    assertThat(status(take, daemon("node2")).err()).contains(why);
    assertThat(status(hand, daemon("node2")).err()).contains(why);
    assertThat(status(hand, daemon("node1")).status()).isZero();
    assertThat(status(take.replace("told-1", "told-2"), daemon("node2")).err()).contains(why);
    var unsaid = take.replace("movedTo: told-1, ", "");
    assertThat(status(unsaid, daemon("node2")).err()).contains(why);
    assertThat(status("{movedTo: told-1}", daemon("node1")).err()).contains(why);
    assertThat(status(take, daemon("node1")).err()).contains(why);
    assertThat(status(take, daemon("node3")).err()).contains(why);
    assertThat(status("{handedTo: null}", daemon("node3")).err()).contains(why);
    assertThat(status("{handedTo: null}", daemon("node2")).status()).isZero();
    assertThat(status(hand, daemon("node1")).status()).isZero();
    var taken = status(take, daemon("node2"));
    assertThat(taken.status()).as(taken.output()).isZero();
    assertThat(status(hand, daemon("node1")).err()).contains(why);
    api.kubectl("delete", "vm", "told");
  }

  @Test
  void aNodesDaemonSaysWhichImageIsOnAClaimAndNothingElse() throws IOException {
    var made =
        api.apply(
            """
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {name: filled, annotations: {a: b}}
            spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1Mi}}}
            """);
    assertThat(made.status()).as(made.output()).isZero();
    var told = claim("annotations: {platter.dev/fill-record: x}");
    assertThat(told.status()).as(told.output()).isZero();
    for (var other :
        List.of(
            "annotations: {a: c}",
            "annotations: {a: null}",
            "annotations: {platter.dev/refill: x}",
            "labels: {a: b}",
            "finalizers: [a.example/b]")) {
      assertThat(claim(other).err())
          .as(other)
          .contains("changes nothing of a claim but the annotation platter.dev/fill-record");
    }
    var complete = claim("annotations: {platter.dev/fill-record: '{\"complete\":true}'}");
    assertThat(complete.status()).as(complete.output()).isZero();
    var half = "annotations: {platter.dev/fill-record: '{\"complete\":false}'}";
    assertThat(claim(half).err()).contains("does not take back that an image is on a claim");
    api.kubectl("annotate", "pvc", "filled", "platter.dev/refill=now");
    assertThat(claim(half).status()).isZero();
    api.kubectl("delete", "pvc", "filled", "--wait=false");
  }

  private static Shell.Result claim(String metadata) {
    var words = new ArrayList<>(List.of("patch", "pvc", "filled", "--type=merge", "-p"));
    words.add("metadata: {" + metadata + "}");
    words.addAll(daemon("node1"));
    return api.tryKubectl(words.toArray());
  }

  @Test
  void aNodesDaemonSaysOfAnIdentityThatItHasItsDiskAndNothingElse() throws IOException {
    var made =
        api.apply(
            """
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: told}
            spec: {image: "a@sha256:%s"}
            """
                .formatted("0".repeat(64)));
    assertThat(made.status()).as(made.output()).isZero();
    assertThat(identity("status: {nodeName: node2}", "node1", "--subresource=status").err())
        .contains("can say of its own node only");
    var told = identity("status: {nodeName: node1, ready: true}", "node1", "--subresource=status");
    assertThat(told.status()).as(told.output()).isZero();
    assertThat(identity("status: {nodeName: node2}", "node2", "--subresource=status").err())
        .contains("moves to the node that its spec names");
    var moves = "spec: {nodeName: node2}";
    for (var other :
        List.of(moves, "metadata: {labels: {a: b}}", "metadata: {annotations: {a: b}}")) {
      assertThat(identity(other, "node1").err())
          .as(other)
          .contains("changes nothing of an identity but its finalizers");
    }
    assertThat(identity("metadata: {finalizers: [platter.dev/disk]}", "node1").status()).isZero();
    assertThat(identity("metadata: {finalizers: null}", "node1").status()).isZero();
    api.kubectl("patch", "vmid", "told", "--type=merge", "-p", moves);
    var came = identity("status: {nodeName: node2}", "node2", "--subresource=status");
    assertThat(came.status()).as(came.output()).isZero();
    api.kubectl("delete", "vmid", "told");
  }

  private static Shell.Result identity(String change, String node, String... more) {
    var words = new ArrayList<>(List.of("patch", "vmid", "told", "--type=merge", "-p", change));
    words.addAll(List.of(more));
    words.addAll(daemon(node));
    return api.tryKubectl(words.toArray());
  }

  private static List<String> daemon(String node) {
    return List.of(
        "--as=system:serviceaccount:platter-system:platter-node",
        "--as-user-extra=authentication.kubernetes.io/node-name=" + node);
  }

  private static Shell.Result status(String status, List<String> who) {
    var words =
        new ArrayList<>(List.of("patch", "vm", "told", "--subresource=status", "--type=merge"));
    words.add("-p");
    words.add("status: " + status);
    words.addAll(who);
    return api.tryKubectl(words.toArray());
  }

  @Test
  void aClusterThatHasVmsKeepsPlatter() throws IOException {
    var made = api.apply(vm("used", "{domain: {devices: {disks: [{source: {image: a}}]}}}"));
    assertThat(made.status()).as(made.output()).isZero();
    try (var client = api.client()) {
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> Uninstall.refuseIfInUse(client))
          .satisfies(e -> assertThat(e.code()).isEqualTo(PlatterException.Code.CONFLICT))
          .satisfies(e -> assertThat(e.details()).contains("vm default/used"));
    }
    assertThat(api.kubectl("get", "vm")).contains("PHASE", "READY", "NODE", "AGE");
    api.kubectl("delete", "vm", "used");
  }

  @Test
  void aClusterThatHasIdentitiesKeepsPlatterWhicheverKeyItIsAskedWith() throws IOException {
    var made =
        api.apply(
            """
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: pet, finalizers: [platter.dev/disk]}
            spec: {image: "a@sha256:%s"}
            """
                .formatted("1".repeat(64)));
    assertThat(made.status()).as(made.output()).isZero();
    for (var context : List.of("a", "by-certificate")) {
      try (var client = KubeConfig.open(api.config(context))) {
        assertThatExceptionOfType(PlatterException.class)
            .isThrownBy(() -> Uninstall.refuseIfInUse(client))
            .satisfies(e -> assertThat(e.details()).contains("vmid default/pet"));
      }
    }
    api.kubectl("patch", "vmid", "pet", "--type=merge", "-p", "metadata: {finalizers: null}");
    api.kubectl("delete", "vmid", "pet");
  }

  @Test
  void identitiesKeepPlatterToo() throws IOException {
    var made =
        api.apply(
            """
            apiVersion: virtlet.k8s/v1
            kind: VirtletVMIdentity
            metadata: {name: kept}
            spec: {image: "a@sha256:%s", type: Local, size: 1Gi}
            """
                .formatted("0".repeat(64)));
    assertThat(made.status()).as(made.output()).isZero();
    try (var client = api.client()) {
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> Uninstall.refuseIfInUse(client))
          .satisfies(e -> assertThat(e.details()).contains("vmid default/kept"));
    }
    api.kubectl("delete", "vmid", "kept");
  }

  @Test
  void volumesKeepTheirDriver() throws IOException {
    var made =
        api.apply(
            """
            apiVersion: v1
            kind: PersistentVolume
            metadata: {name: %1$s}
            spec:
              accessModes: [ReadWriteOnce]
              capacity: {storage: 1Mi}
              claimRef: {namespace: default, name: data}
              csi: {driver: %1$s, volumeHandle: a}
            ---
            apiVersion: v1
            kind: PersistentVolume
            metadata: {name: other}
            spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Mi}, hostPath: {path: /tmp}}
            """
                .formatted(Names.VOLUME_DRIVER));
    assertThat(made.status()).as(made.output()).isZero();
    try (var client = api.client()) {
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> Uninstall.refuseIfInUse(client))
          .satisfies(
              e ->
                  assertThat(e.details())
                      .contains("pv " + Names.VOLUME_DRIVER + " of pvc default/data")
                      .noneMatch(left -> left.contains("other")));
      api.kubectl("delete", "--wait=false", "pv", Names.VOLUME_DRIVER, "other");
      for (var name : List.of(Names.VOLUME_DRIVER, "other")) {
        api.tryKubectl("patch", "pv", name, "--type=merge", "-p", "metadata: {finalizers: null}");
      }
      assertThat(Uninstall.left(client)).noneMatch(left -> left.startsWith("pv "));
    }
  }

  @Test
  void onlyLabelsOfPlatterAreTakenFromItsNodes() throws IOException {
    for (var node : List.of("with", "without")) {
      api.apply(
          "{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {mine: a, extraRuntime: b}}}"
              .formatted(node));
    }
    api.kubectl("label", "node", "with", "platter.dev/node=true", "usage.platter.dev/fast=true");
    api.kubectl("label", "node", "without", "usage.platter.dev/other=true");
    try (var client = api.client()) {
      assertThat(Uninstall.labels(client))
          .containsExactly("extraRuntime", "platter.dev/node", "usage.platter.dev/fast");
    }
    api.kubectl("delete", "node", "with", "without");
  }

  @Test
  void kubectlExplainsAVmDownToItsLastField() {
    assertThat(api.kubectl("explain", "vm.spec.domain.devices.disks.copy.usage-type"))
        .contains("The pool for the local file.");
    assertThat(api.kubectl("explain", "vmgroup.spec.template.spec.running"))
        .contains("Whether the VM is to run.");
    assertThat(api.kubectl("explain", "vm.status.disks.percent"))
        .contains("How much of the image the node has");
    assertThat(api.kubectl("explain", "vmidset.spec.template.metadata.annotations"))
        .contains("Those that name the identity are added.");
    assertThat(api.kubectl("explain", "vmm.spec.node")).contains("The scheduler chooses");
    assertThat(api.kubectl("explain", "vmid.status.conditions.reason")).contains("for programs");
  }
}
