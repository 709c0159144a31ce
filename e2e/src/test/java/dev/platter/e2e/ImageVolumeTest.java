package dev.platter.e2e;

import static dev.platter.e2e.LocalVolumes.claim;
import static dev.platter.e2e.LocalVolumes.pod;
import static dev.platter.e2e.LocalVolumes.volume;
import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Volumes of the class platter-local with disks on them that their claims name. */
class ImageVolumeTest {
  private static LocalVolumes installed;

  @BeforeAll
  static void install() {
    installed = LocalVolumes.install();
  }

  @AfterAll
  static void removeAll() {
    installed.close();
  }

  private static String filledFrom(String group, String kind, String name) {
    return "dataSourceRef: {apiGroup: %s, kind: %s, name: %s}".formatted(group, kind, name);
  }

  /** The pods that ever filled a claim with what a DiskImport names, as the scheduler tells. */
  private static long fills() {
    return shared()
        .kubectl(
            "get",
            "events",
            "--field-selector=reason=Scheduled",
            "-o",
            "jsonpath={range .items[*]}{.involvedObject.name}{'\\n'}{end}")
        .lines()
        .filter(name -> name.startsWith("platter-fill-"))
        .distinct()
        .count();
  }

  /** Reads the disk on a device and the one in a file system; the hashes are busybox's. */
  private static String reads(String name, String device, String files, String then, long size) {
    return pod(
        name,
        "for disk in /dev/volume /files/disk.img; do head -c %d $disk | sha256sum; done; %s echo read; sleep 9999"
            .formatted(size, then),
        "{name: %s, mountPath: /files}".formatted(files),
        "{name: %s, devicePath: /dev/volume}".formatted(device),
        volume(device) + volume(files));
  }

  private static String boots(String claim) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: from-%1$s}
    spec:
      restartPolicy: Never
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - {type: PersistentVolumeClaim, source: {name: %1$s}, target: {device: sda}}
    """
        .formatted(claim);
  }

  /** On a device and in a file system; what is written to the first is not in the second. */
  @Test
  void aDiskIsImportedOnceAndThenCopiedInNoTime() throws IOException {
    var disk = MarkerGuest.qcow2();
    var size = Files.size(MarkerGuest.raw());
    var hash = Shell.run("sha256sum", MarkerGuest.raw()).substring(0, 64);
    var both = "(?s)%1$s  -\\s+%1$s  -\\s+read.*".formatted(hash);
    var source = filledFrom("platter.dev", "DiskImport", "marker");
    var before = fills();
    try (var web = FileServer.http(shared().kube().outside(), disk.getParent())) {
      shared()
          .apply(
              """
          apiVersion: platter.dev/v1alpha1
          kind: DiskImport
          metadata: {name: marker}
          spec:
            source: {http: {url: "%s"}}
            digest: sha256:%s
          ---
          """
                      .formatted(
                          web.url(disk.getFileName().toString()),
                          Shell.run("sha256sum", disk).substring(0, 64))
                  + claim("device-1", "Block", "96Mi", source)
                  + claim("files-1", "Filesystem", "160Mi", source)
                  + reads(
                      "first", "device-1", "files-1", "echo changed >/dev/volume; sync;", size));
      assertThat(shared().awaitLog("first", "^read")).matches(both);
      assertThat(fills() - before).as("pods that wrote the disk").isEqualTo(2);
    }
    // The web server is gone.
    shared()
        .apply(
            claim("device-2", "Block", "128Mi", source)
                + claim("files-2", "Filesystem", "160Mi", source)
                + reads("second", "device-2", "files-2", "", size));
    assertThat(shared().awaitLog("second", "^read")).matches(both);
    assertThat(fills() - before).as("pods that wrote the disk").isEqualTo(2);
    shared().kubectl("delete", "pods", "first", "second", "--timeout=60s");
    shared().apply(boots("device-2"));
    assertThat(shared().awaitLog("from-device-2", "^@@READY"))
        .containsPattern("@@DISK sda .*size=134217728");
    shared().kubectl("delete", "vm", "from-device-2", "--timeout=60s");
    shared().kubectl("delete", "diskimport", "marker");
    LocalVolumes.nothingIsLeft();
  }

  @Test
  void aClaimThatNamesAnImageInItsClassIsBoundAtOnceAndAVmBootsFromIt() {
    shared()
        .apply(
            """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMImage
        metadata: {name: marker}
        spec: {image: "%s", storageClassName: platter-local}
        """
                .formatted(shared().markerByDigest()));
    shared()
        .kubectl("wait", "--for=jsonpath={.status.ready}=true", "vmimage/marker", "--timeout=120s");
    var source = filledFrom("virtlet.k8s", "VirtletVMImage", "marker");
    var began = System.nanoTime();
    shared()
        .apply(claim("root-1", "Block", "96Mi", source) + claim("root-2", "Block", "64Mi", source));
    for (var name : new String[] {"root-1", "root-2"}) {
      shared()
          .kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/" + name, "--timeout=60s");
    }
    System.out.printf("two claims from an image: %d ms%n", (System.nanoTime() - began) / 1_000_000);
    assertThat(shared().kubectl("get", "pods", "-o", "name")).isEmpty();
    shared().apply(boots("root-1"));
    assertThat(shared().awaitLog("from-root-1", "^@@READY"))
        .containsPattern("@@DISK sda .*size=100663296");
    shared().kubectl("delete", "vm", "from-root-1", "--timeout=60s");
    shared().kubectl("delete", "vmimage", "marker", "--timeout=60s");
    LocalVolumes.nothingIsLeft();
  }

  /** The volumes of a node that VMs use before all of their bytes have come. */
  private static String drawn() {
    return LocalVolumes.node().exec("ls", "/var/lib/kubelet/plugins/local.csi.platter.dev/drawn");
  }

  private static String atNode(String vm) {
    return vm
        + "  nodeSelector: {kubernetes.io/hostname: %s}\n".formatted(LocalVolumes.node().name());
  }

  /** With a login of its own; others, who have none, get nothing of what the node has by then. */
  @Test
  void aVmBootsFromAClaimBeforeItsImageHasComeAndGoesOnWithoutTheDriver() {
    var image = shared().locked().replaceFirst(":[^:/]+$", "@" + shared().lockedDigest());
    var hash =
        Shell.run(
                "sh",
                "-c",
                "tail -c +33554433 %s | head -c 33554432 | sha256sum".formatted(MarkerGuest.raw()))
            .substring(0, 64);
    shared()
        .kubectl(
            "create",
            "secret",
            "docker-registry",
            "alice",
            "--docker-server=" + image.substring(0, image.indexOf('/')),
            "--docker-username=alice",
            "--docker-password=" + PlatterCluster.ALICE);
    var disk =
        """
        apiVersion: platter.dev/v1alpha1
        kind: DiskImport
        metadata: {name: %s}
        spec: {source: {registry: {image: "%s"%s}}}
        ---
        """;
    var began = System.nanoTime();
    shared()
        .apply(
            disk.formatted("mine", image, ", pullSecret: {name: alice}")
                + claim("drawn", "Block", "96Mi", filledFrom("platter.dev", "DiskImport", "mine"))
                + atNode(boots("drawn")));
    shared().kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/drawn", "--timeout=120s");
    System.out.printf("a claim that is drawn: %d ms%n", (System.nanoTime() - began) / 1_000_000);
    assertThat(shared().awaitLog("from-drawn", "^@@READY"))
        .containsPattern("@@DISK sda .*size=100663296");
    assertThat(drawn()).as("the VM has it from the driver").startsWith("vol-");
    shared()
        .kubectl(
            "wait",
            "--for=jsonpath={.status.claims[0].phase}=Filled",
            "diskimport/mine",
            "--timeout=120s");

    shared().kubectl("-n", "platter-system", "rollout", "restart", "ds/platter-volumes");
    LocalVolumes.awaitDriver();
    assertThat(shared().kubectl("get", "vm", "from-drawn", "-o", "jsonpath={.status.phase}"))
        .isEqualTo("Running");

    shared()
        .apply(
            disk.formatted("theirs", image, "")
                + claim(
                    "refused", "Block", "96Mi", filledFrom("platter.dev", "DiskImport", "theirs"))
                + atNode(boots("refused")));
    shared()
        .await(
            "it is not refused",
            () ->
                shared()
                    .kubectl("get", "diskimport", "theirs", "-o", "jsonpath={.status.claims[0]}"),
            said -> said.contains("Retrying"));
    assertThat(shared().kubectl("get", "pvc", "refused", "-o", "jsonpath={.status.phase}"))
        .isEqualTo("Pending");
    shared().kubectl("delete", "vm", "from-refused", "from-drawn", "--timeout=60s");
    shared().await("it is still staged", ImageVolumeTest::drawn, String::isBlank);

    shared()
        .apply(
            pod(
                "reader",
                "tail -c +33554433 /dev/volume | head -c 33554432 | sha256sum; echo read; sleep 9999",
                "",
                "{name: drawn, devicePath: /dev/volume}",
                volume("drawn")));
    assertThat(shared().awaitLog("reader", "^read")).contains(hash);
    shared().kubectl("delete", "pod", "reader", "--timeout=60s");
    shared().kubectl("delete", "diskimport", "mine", "theirs");
    shared().kubectl("delete", "secret", "alice");
    LocalVolumes.nothingIsLeft();
  }
}
