package dev.platter.e2e;

import static dev.platter.e2e.LocalVolumes.claim;
import static dev.platter.e2e.LocalVolumes.pod;
import static dev.platter.e2e.LocalVolumes.volume;
import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Volumes of the class platter-local, with the sidecars of Kubernetes and kubelets. */
class LocalVolumeTest {

  private static LocalVolumes installed;

  @BeforeAll
  static void install() {
    installed = LocalVolumes.install();
  }

  @AfterAll
  static void removeAll() {
    installed.close();
  }

  private static String snapshot(String claim) {
    return """
    apiVersion: snapshot.storage.k8s.io/v1
    kind: VolumeSnapshot
    metadata: {name: %1$s}
    spec: {volumeSnapshotClassName: platter-local, source: {persistentVolumeClaimName: %1$s}}
    ---
    """
        .formatted(claim);
  }

  private static String from(String kind, String name) {
    var group = kind.equals("VolumeSnapshot") ? "apiGroup: snapshot.storage.k8s.io, " : "";
    return "dataSource: {%skind: %s, name: %s}".formatted(group, kind, name);
  }

  /** As the pod that has them sees it. */
  private static void volumesGrowWhileTheyAreUsedAndTheDriverIsReplaced() {
    shared().kubectl("-n", "platter-system", "rollout", "restart", "ds/platter-volumes");
    grow("device", "64Mi");
    grow("grows", "400Mi");
    LocalVolumes.awaitDriver();
    // Or kubelet looks after its usual minute.
    shared().kubectl("annotate", "pod", "writer", "look=again");
    shared()
        .await(
            "the device does not grow",
            () ->
                shared().kubectl("exec", "writer", "--", "blockdev", "--getsize64", "/dev/device"),
            size -> size.strip().equals(Long.toString(64L << 20)));
    shared()
        .await(
            "the file system does not grow",
            () -> shared().kubectl("exec", "writer", "--", "df", "-m", "/grows"),
            text -> text.matches("(?s).* 3[3-9]\\d +\\d+ +\\d+ +\\d+% /grows\\s*"));
    shared().kubectl("exec", "writer", "--", "touch", "/files/still-writable");
  }

  private static void grow(String claim, String size) {
    shared()
        .kubectl(
            "patch",
            "pvc",
            claim,
            "-p",
            "spec: {resources: {requests: {storage: %s}}}".formatted(size));
  }

  /** Its image is written once; the claim shares the blocks of what was written. */
  @Test
  void anIdentityThatNamesNoClassIsHere() {
    shared()
        .apply(
            """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: here}
        spec: {image: "virtlet.cloud/%1$s", type: PersistentVolume, size: 256Mi}
        ---
        apiVersion: v1
        kind: Pod
        metadata:
          name: here
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, VirtletVMIdentitySet: here}
        spec:
          terminationGracePeriodSeconds: 5
          containers:
          - {name: vm, image: "virtlet.cloud/%1$s", resources: {limits: {memory: 96Mi}}}
        """
                .formatted(shared().markerByDigest()));
    assertThat(shared().awaitLog("here", "^@@READY"))
        .containsPattern("@@DISK sda serial=root size=268435456");
    assertThat(
            shared()
                .kubectl(
                    "get",
                    "pvc",
                    "vmid-here",
                    "-o",
                    "jsonpath={.spec.storageClassName} {.status.phase}"))
        .isEqualTo("platter-local Bound");
    shared().kubectl("delete", "pod", "here", "--timeout=60s");
    shared().kubectl("delete", "vmidset,vmid", "here", "--timeout=60s");
    shared()
        .await(
            "the image stays",
            () -> shared().kubectl("get", "vmimage,pvc,pv,volumesnapshotcontents", "-o", "name"),
            String::isEmpty);
  }

  @Test
  void claimsAreWrittenSnapshottedRestoredClonedAndGone() {
    shared()
        .apply(
            claim("files", "Filesystem", "64Mi", "")
                + claim("device", "Block", "32Mi", "")
                + claim("grows", "Filesystem", "300Mi", "")
                    .replace("platter-local", "platter-local-xfs")
                + pod(
                    "writer",
                    "echo before >/files/file; echo before >/dev/device; echo written;"
                        + " until [ -e /files/go ]; do sleep 0.2; done;"
                        + " echo after >/files/file; echo after >/dev/device; echo again; sleep 9999",
                    "{name: files, mountPath: /files}, {name: grows, mountPath: /grows}",
                    "{name: device, devicePath: /dev/device}",
                    volume("files") + volume("device") + volume("grows")));
    shared().awaitLog("writer", "^written");
    assertThat(
            shared()
                .kubectl(
                    "-n",
                    "platter-system",
                    "get",
                    "csistoragecapacities",
                    "-o",
                    "jsonpath={.items[*].storageClassName}"))
        .contains("platter-local");

    shared().apply(snapshot("files") + snapshot("device"));
    for (var name : new String[] {"files", "device"}) {
      shared()
          .kubectl(
              "wait",
              "--for=jsonpath={.status.readyToUse}=true",
              "volumesnapshot/" + name,
              "--timeout=60s");
    }
    shared().kubectl("exec", "writer", "--", "touch", "/files/go");
    shared().awaitLog("writer", "^again");

    shared()
        .apply(
            claim("old-files", "Filesystem", "64Mi", from("VolumeSnapshot", "files"))
                + claim("old-device", "Block", "48Mi", from("VolumeSnapshot", "device"))
                + claim("clone", "Filesystem", "64Mi", from("PersistentVolumeClaim", "files")));
    // Where the bytes are, though no pod says so.
    for (var name : List.of("old-files", "old-device", "clone")) {
      shared()
          .kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/" + name, "--timeout=60s");
    }
    shared()
        .apply(
            pod(
                    "reader",
                    "cat /old/file; head -n1 /dev/old; cat /clone/file; blockdev --getsize64 /dev/old",
                    "{name: old-files, mountPath: /old}, {name: clone, mountPath: /clone}",
                    "{name: old-device, devicePath: /dev/old}",
                    volume("old-files") + volume("old-device") + volume("clone"))
                .replaceFirst("nodeSelector: .*", ""));
    assertThat(shared().awaitLog("reader", "^\\d+$"))
        .isEqualTo("before\nbefore\nafter\n50331648\n");
    volumesGrowWhileTheyAreUsedAndTheDriverIsReplaced();

    shared().kubectl("delete", "pods", "--all", "--timeout=60s");
    shared().kubectl("delete", "volumesnapshots", "--all", "--timeout=60s");
    LocalVolumes.nothingIsLeft();
    assertThat(
            shared()
                .kubectl(
                    "-n",
                    "platter-system",
                    "exec",
                    "ds/platter-volumes",
                    "-c",
                    "driver",
                    "--",
                    "sh",
                    "-c",
                    "ls "
                        + LocalVolumes.POOL
                        + "/volumes/volumes "
                        + LocalVolumes.POOL
                        + "/volumes/snapshots | grep -v : | grep . || true"))
        .isBlank();
    assertThat(
            LocalVolumes.node()
                .exec("losetup", "--list", "--noheadings", "--output", "BACK-FILE")
                .lines())
        .filteredOn(line -> line.contains(LocalVolumes.POOL) || line.contains("csi"))
        .hasSizeLessThanOrEqualTo(shared().kube().nodes().size());
  }
}
