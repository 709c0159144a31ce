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
}
