package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.KubeNode;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.PlatterImage;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Disks that their own image serves to a VM, in pods beside it. */
class ServedDiskTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What the nodes themselves keep, and show of their processes and domains. */
  private static final String SHOWN =
      """
      cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '
      cat /var/log/pods/*/*/*.log
      find /var/lib/platter -type f -not -path '*/images/*' -not -path '*/pools/*' -size -1M -exec cat {} +
      for socket in $(find /run/platter -name libvirt-sock); do
        ask="virsh -q -c qemu:///system?socket=$socket"
        for domain in $($ask list --name); do $ask dumpxml --security-info $domain; done
        for secret in $($ask secret-list | awk '{print $1}'); do $ask secret-dumpxml $secret; done
      done 2>/dev/null
      true
      """;

  @TempDir Path work;
  private String image;

  /** As a user does it: with a Dockerfile and a registry. */
  @BeforeEach
  void push() throws IOException {
    image = shared().image("vmdisks/marker");
    var settings =
        Files.writeString(
            work.resolve("storage.conf"),
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"%1$s/store\"\nrunroot = \"%1$s/run\"\n"
                .formatted(work));
    var buildah = Shell.shell().with("CONTAINERS_STORAGE_CONF", settings.toString());
    Files.copy(MarkerGuest.qcow2(), work.resolve("marker.qcow2"));
    Files.writeString(
        work.resolve("Dockerfile"),
        "FROM oci-archive:%s\nADD marker.qcow2 /disk\n".formatted(PlatterImage.disk()));
    buildah.check("buildah", "bud", "-q", "--isolation", "chroot", "-t", image, work);
    buildah.check("buildah", "push", "-q", "--tls-verify=false", image);
    for (var node : shared().kube().nodes()) {
      node.allowPlainHttp(image.substring(0, image.indexOf('/')));
    }
  }

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "vm", "--all", "--timeout=90s");
    shared()
        .await(
            "pods or Secrets are left",
            () -> shared().kubectl("get", "pods,secrets", "-o", "name"),
            String::isEmpty);
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
    assertThat(shared().kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
        .doesNotContain("disk-");
    Shell.run("rm", "-rf", work.resolve("store"));
  }

  private record Login(String pod, String url, String password) {}

  private Login login(String disk) throws IOException {
    return login("served", disk);
  }

  /** Of the pod that serves a VM's disk now. */
  private Login login(String name, String disk) throws IOException {
    var vm = json("get", "vm", name, "-o", "json");
    for (var source : vm.at("/status/sources")) {
      if (source.path("disk").asText().equals(disk)) {
        var iscsi = JSON.readTree(source.path("answer").asText()).path("iscsi");
        var secret = iscsi.at("/auth/secret/name").asText();
        var value =
            shared()
                .kubectl(
                    "get",
                    "secret",
                    secret,
                    "-o",
                    "jsonpath={.data.node\\.session\\.auth\\.password}");
        var url =
            "%s:%s/%s/0"
                .formatted(
                    iscsi.at("/host/name").asText(),
                    iscsi.at("/host/port").asText(),
                    iscsi.path("portal").asText());
        return new Login(
            source.path("pod").asText(), url, new String(Base64.getDecoder().decode(value), UTF_8));
      }
    }
    throw new AssertionError(vm.toPrettyString());
  }

  private static JsonNode json(Object... words) throws IOException {
    return JSON.readTree(shared().kubectl(words));
  }

  /** Whether libiscsi, on a node, gets at the disk. */
  private static boolean opens(String user, String url) {
    var told =
        shared()
            .kube()
            .node(1)
            .exec("sh", "-c", "iscsi-inq 'iscsi://%s%s' 2>&1 || true".formatted(user, url));
    return told.contains("Peripheral Device Type:DIRECT_ACCESS");
  }

  private static KubeNode nodeOf(String pod) {
    var name = shared().kubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}");
    return shared().kube().nodes().stream()
        .filter(node -> node.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aGuestBootsFromWhatADockerfileMadeAndNobodySeesThePassword() throws IOException {
    shared()
        .apply(
            """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: served}
        spec:
          terminationGracePeriodSeconds: 4
          domain:
            memory: {guest: 96Mi}
            devices:
              disks:
              - type: ContainerRegistryDisk:v1alpha
                source: {name: "%1$s"}
                serve: iscsi
                target: {device: sda}
              - {name: data, source: {image: "%1$s"}, serve: iscsi, target: {device: sdb}}
          cloudInit:
            userData: |
              #!/bin/sh
              #marker: dd if=$(disk data) bs=1M skip=60 count=1 | head -c 7 | grep written
              #marker: echo written | dd of=$(disk data) bs=1M seek=60 conv=notrunc; sync
              #marker: dd if=$(disk data) bs=1M skip=60 count=1 | head -c 7
        """
                .formatted(image));
    assertThat(shared().awaitLog("served", "^@@READY"))
        .containsPattern("@@DISK sda serial=sda size=67108864")
        .containsPattern("@@DISK sdb serial=data size=67108864")
        .containsOnlyOnce("@@OUT written");

    var root = login("sda");
    assertThat(root.password()).isNotEqualTo(login("data").password());
    assertThat(opens("vm%" + root.password() + "@", root.url())).isTrue();
    assertThat(opens("vm%another-password@", root.url())).isFalse();
    assertThat(opens("", root.url())).isFalse();
    assertThat(opens("vm%" + root.password() + "@", login("data").url())).isFalse();
    isSeenNowhere(root.password());

    // Who serves the disk stays where it is.
    shared()
        .apply(
            """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachineMigration
        metadata: {name: move}
        spec: {vm: served}
        """);
    shared()
        .await(
            "the VM does not move",
            () -> shared().kubectl("get", "vmm", "move", "-o", "jsonpath={.status}"),
            text -> text.contains("\"phase\":\"Succeeded\""));
    assertThat(login("sda")).isEqualTo(root);

    var target = root.url().split("/", -1)[1];
    // The guest has written; a container that begins anew would not know.
    var node = nodeOf(root.pod());
    node.exec("kill", "-9", shared().processes(node, "default", root.pod(), "java"));
    shared()
        .await(
            "the VM does not say that its disk is lost",
            () -> shared().kubectl("get", "events", "--field-selector=reason=DiskLost"),
            text -> text.contains("that served the disk sda has ended"));
    shared()
        .await(
            "the disk is not served again",
            () ->
                shared()
                    .kubectl("get", "vm", "served", "-o", "jsonpath={.status.sources[*].answer}"),
            text -> text.split("portal", -1).length == 3 && !text.contains(target));
    var next = login("sda");
    assertThat(opens("vm%" + next.password() + "@", next.url())).isTrue();
    assertThat(opens("vm%" + root.password() + "@", next.url())).as("the old password").isFalse();
    assertThat(shared().awaitLog("served", "^@@READY")).containsOnlyOnce("@@OUT written");
    eachVmOfAGroupHasItsOwn();
  }

  private void eachVmOfAGroupHasItsOwn() throws IOException {
    shared().kubectl("delete", "vm", "served", "--timeout=90s");
    shared()
        .apply(
            """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachineGroup
        metadata: {name: all}
        spec:
          replicas: 2
          template:
            spec:
              terminationGracePeriodSeconds: 4
              domain:
                memory: {guest: 96Mi}
                devices:
                  disks:
                  - {name: root, source: {image: "%s"}, serve: iscsi, target: {device: sda}}
        """
                .formatted(image));
    shared()
        .await(
            "not both run",
            () -> shared().kubectl("get", "vm", "-o", "jsonpath={.items[*].status.phase}"),
            "Running Running"::equals);
    var one = login("all-0", "root");
    var other = login("all-1", "root");
    assertThat(opens("vm%" + one.password() + "@", one.url())).isTrue();
    assertThat(opens("vm%" + one.password() + "@", other.url())).isFalse();
    shared().kubectl("delete", "vmgroup", "all", "--timeout=60s");
  }

  private static void isSeenNowhere(String password) {
    var base64 = Base64.getEncoder().encodeToString(password.getBytes(UTF_8));
    var shown =
        shared().kube().nodes().stream()
            .map(node -> node.exec("sh", "-c", SHOWN))
            .collect(Collectors.joining());
    assertThat(shown)
        .as("nodes")
        .contains("<auth username='vm'>", "qemu-system-x86_64 -name", "dev.platter.cli.ServeMain")
        .contains("@@READY")
        .doesNotContain(password, base64);
    var kinds =
        shared()
            .kubectl("api-resources", "--verbs=list", "-o", "name")
            .lines()
            .filter(kind -> !kind.equals("secrets"))
            .toList();
    assertThat(shared().kubectl("get", String.join(",", kinds), "-A", "-o", "json"))
        .as("objects")
        .contains("PLATTER_CHAP_SECRET")
        .doesNotContain(password, base64);
  }
}
