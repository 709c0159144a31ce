package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.CsiSidecars;
import dev.platter.lab.KubeNode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Volumes of the class platter-local, with the sidecars of Kubernetes and kubelets. */
class LocalVolumeTest {
  private static final PlatterCluster CLUSTER = PlatterCluster.shared();

  /** The nodes of the lab share their disk, but for directories such as this one's parent. */
  private static final String POOL = "/var/lib/platter/local-volumes";

  private static final KubeNode NODE = CLUSTER.kube().node(1);
  private static CsiSidecars sidecars;

  /** Only a root with CAP_SYS_RESOURCE, which is not here, grows an ext4 that is mounted. */
  static final String XFS =
      """
      apiVersion: storage.k8s.io/v1
      kind: StorageClass
      metadata: {name: platter-local-xfs}
      provisioner: local.csi.platter.dev
      parameters: {csi.storage.k8s.io/fstype: xfs}
      allowVolumeExpansion: true
      volumeBindingMode: WaitForFirstConsumer
      """;

  @BeforeAll
  static void install() {
    sidecars = CsiSidecars.start(CLUSTER.kube());
    CLUSTER.install("--volumes", POOL + ":2Gi", "--sidecars", CsiSidecars.IMAGES);
    CLUSTER.apply(XFS);
    awaitDriver();
  }

  private static void awaitDriver() {
    for (var part : new String[] {"ds/platter-volumes", "deploy/platter-volumes-resizer"}) {
      CLUSTER.kubectl("-n", "platter-system", "rollout", "status", part, "--timeout=120s");
    }
  }

  @AfterAll
  static void removeAll() {
    CLUSTER.kubectl(
        "-n",
        "platter-system",
        "delete",
        "ds/platter-volumes",
        "deploy/platter-volumes-resizer",
        "--timeout=60s");
    CLUSTER.await(
        "pods of the driver are left",
        () ->
            CLUSTER.kubectl(
                "-n",
                "platter-system",
                "get",
                "pods",
                "-l",
                "app.kubernetes.io/name=platter-volumes"),
        String::isBlank);
    assertThat(NODE.exec("losetup", "--list", "--noheadings", "--output", "AUTOCLEAR,BACK-FILE"))
        .doesNotContainPattern("(?m)^ *0 .*" + POOL);
    CLUSTER.kubectl(
        "delete",
        "csidriver/local.csi.platter.dev",
        "sc/platter-local",
        "sc/platter-local-xfs",
        "volumesnapshotclass/platter-local",
        "clusterrole/platter-volumes",
        "clusterrolebinding/platter-volumes",
        "clusterrolebinding/platter-volumes-resizer");
    for (var name : new String[] {"platter-volumes", "platter-volumes-resizer"}) {
      CLUSTER.kubectl("-n", "platter-system", "delete", "role,rolebinding,serviceaccount", name);
    }
    // Kubelets never take back the labels of a driver.
    CLUSTER.kubectl("label", "nodes", "--all", "local.csi.platter.dev/node-");
    for (var node : CLUSTER.kube().nodes()) {
      node.exec("rm", "-rf", POOL);
    }
    sidecars.close();
  }

  private static String claim(String name, String mode, String size, String source) {
    return """
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: %s}
    spec:
      accessModes: [ReadWriteOnce]
      volumeMode: %s
      storageClassName: platter-local
      resources: {requests: {storage: %s}}
      %s
    ---
    """
        .formatted(name, mode, size, source);
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

  /** What a volume is made from is on one node, and the scheduler does not know of that. */
  private static String pod(String name, String command, String files, String devices, String of) {
    return """
    apiVersion: v1
    kind: Pod
    metadata: {name: %s}
    spec:
      nodeSelector: {kubernetes.io/hostname: %s}
      terminationGracePeriodSeconds: 0
      restartPolicy: Never
      containers:
      - name: main
        image: lab.local/busybox:1
        command: [sh, -c, '%s']
        volumeMounts: [%s]
        volumeDevices: [%s]
      volumes: [%s]
    """
        .formatted(name, NODE.name(), command, files, devices, of);
  }

  private static String volume(String claim) {
    return "{name: %1$s, persistentVolumeClaim: {claimName: %1$s}},".formatted(claim);
  }

  /** As the pod that has them sees it. */
  private static void volumesGrowWhileTheyAreUsedAndTheDriverIsReplaced() {
    CLUSTER.kubectl("-n", "platter-system", "rollout", "restart", "ds/platter-volumes");
    grow("device", "64Mi");
    grow("grows", "400Mi");
    awaitDriver();
    // Or kubelet looks after its usual minute.
    CLUSTER.kubectl("annotate", "pod", "writer", "look=again");
    CLUSTER.await(
        "the device does not grow",
        () -> CLUSTER.kubectl("exec", "writer", "--", "blockdev", "--getsize64", "/dev/device"),
        size -> size.strip().equals(Long.toString(64L << 20)));
    CLUSTER.await(
        "the file system does not grow",
        () -> CLUSTER.kubectl("exec", "writer", "--", "df", "-m", "/grows"),
        text -> text.matches("(?s).* 3[3-9]\\d +\\d+ +\\d+ +\\d+% /grows\\s*"));
    CLUSTER.kubectl("exec", "writer", "--", "touch", "/files/still-writable");
  }

  private static void grow(String claim, String size) {
    CLUSTER.kubectl(
        "patch",
        "pvc",
        claim,
        "-p",
        "spec: {resources: {requests: {storage: %s}}}".formatted(size));
  }

  /** Its image is written once; the claim shares the blocks of what was written. */
  @Test
  void anIdentityThatNamesNoClassIsHere() {
    CLUSTER.apply(
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
            .formatted(CLUSTER.markerByDigest()));
    assertThat(CLUSTER.awaitLog("here", "^@@READY"))
        .containsPattern("@@DISK sda serial=root size=268435456");
    assertThat(
            CLUSTER.kubectl(
                "get",
                "pvc",
                "vmid-here",
                "-o",
                "jsonpath={.spec.storageClassName} {.status.phase}"))
        .isEqualTo("platter-local Bound");
    CLUSTER.kubectl("delete", "pod", "here", "--timeout=60s");
    CLUSTER.kubectl("delete", "vmidset,vmid", "here", "--timeout=60s");
    CLUSTER.await(
        "the image stays",
        () -> CLUSTER.kubectl("get", "vmimage,pvc,pv,volumesnapshotcontents", "-o", "name"),
        String::isEmpty);
  }

  @Test
  void claimsAreWrittenSnapshottedRestoredClonedAndGone() {
    CLUSTER.apply(
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
    CLUSTER.awaitLog("writer", "^written");
    assertThat(
            CLUSTER.kubectl(
                "-n",
                "platter-system",
                "get",
                "csistoragecapacities",
                "-o",
                "jsonpath={.items[*].storageClassName}"))
        .contains("platter-local");

    CLUSTER.apply(snapshot("files") + snapshot("device"));
    for (var name : new String[] {"files", "device"}) {
      CLUSTER.kubectl(
          "wait",
          "--for=jsonpath={.status.readyToUse}=true",
          "volumesnapshot/" + name,
          "--timeout=60s");
    }
    CLUSTER.kubectl("exec", "writer", "--", "touch", "/files/go");
    CLUSTER.awaitLog("writer", "^again");

    CLUSTER.apply(
        claim("old-files", "Filesystem", "64Mi", from("VolumeSnapshot", "files"))
            + claim("old-device", "Block", "48Mi", from("VolumeSnapshot", "device"))
            + claim("clone", "Filesystem", "64Mi", from("PersistentVolumeClaim", "files"))
            + pod(
                "reader",
                "cat /old/file; head -n1 /dev/old; cat /clone/file; blockdev --getsize64 /dev/old",
                "{name: old-files, mountPath: /old}, {name: clone, mountPath: /clone}",
                "{name: old-device, devicePath: /dev/old}",
                volume("old-files") + volume("old-device") + volume("clone")));
    assertThat(CLUSTER.awaitLog("reader", "^\\d+$")).isEqualTo("before\nbefore\nafter\n50331648\n");
    volumesGrowWhileTheyAreUsedAndTheDriverIsReplaced();

    CLUSTER.kubectl("delete", "pods", "--all", "--timeout=60s");
    CLUSTER.kubectl("delete", "volumesnapshots,pvc", "--all", "--timeout=60s");
    CLUSTER.await(
        "volumes or snapshots are left",
        () -> CLUSTER.kubectl("get", "pv,volumesnapshotcontents", "-o", "name"),
        String::isEmpty);
    assertThat(
            CLUSTER.kubectl(
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
                    + POOL
                    + "/volumes/volumes "
                    + POOL
                    + "/volumes/snapshots | grep -v : | grep . || true"))
        .isBlank();
    assertThat(NODE.exec("losetup", "--list", "--noheadings", "--output", "BACK-FILE").lines())
        .filteredOn(line -> line.contains(POOL) || line.contains("csi"))
        .hasSizeLessThanOrEqualTo(CLUSTER.kube().nodes().size());
  }
}
