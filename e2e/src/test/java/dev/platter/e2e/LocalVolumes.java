package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.CsiSidecars;
import dev.platter.lab.KubeNode;

/** The driver of volumes on nodes, installed on the lab's cluster. */
final class LocalVolumes implements AutoCloseable {

  /** The nodes of the lab share their disk, but for directories such as this one's parent. */
  static final String POOL = "/var/lib/platter/local-volumes";

  /** The one that pods of tests are put on; of the cluster that there is now. */
  static KubeNode node() {
    return shared().kube().node(1);
  }

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

  private final CsiSidecars sidecars;

  private LocalVolumes(CsiSidecars sidecars) {
    this.sidecars = sidecars;
  }

  static LocalVolumes install() {
    var sidecars = CsiSidecars.start(shared().kube());
    shared().install("--volumes", POOL + ":2Gi", "--sidecars", CsiSidecars.IMAGES);
    shared().apply(XFS);
    awaitDriver();
    return new LocalVolumes(sidecars);
  }

  static void awaitDriver() {
    for (var part : new String[] {"ds/platter-volumes", "deploy/platter-volumes-resizer"}) {
      shared().kubectl("-n", "platter-system", "rollout", "status", part, "--timeout=120s");
    }
  }

  @Override
  public void close() {
    shared()
        .kubectl(
            "-n",
            "platter-system",
            "delete",
            "ds/platter-volumes",
            "deploy/platter-volumes-resizer",
            "--timeout=60s");
    shared()
        .await(
            "pods of the driver are left",
            () ->
                shared()
                    .kubectl(
                        "-n",
                        "platter-system",
                        "get",
                        "pods",
                        "-l",
                        "app.kubernetes.io/name=platter-volumes"),
            String::isBlank);
    assertThat(node().exec("losetup", "--list", "--noheadings", "--output", "AUTOCLEAR,BACK-FILE"))
        .doesNotContainPattern("(?m)^ *0 .*" + POOL);
    shared()
        .kubectl(
            "delete",
            "csidriver/local.csi.platter.dev",
            "sc/platter-local",
            "sc/platter-local-xfs",
            "volumesnapshotclass/platter-local",
            "clusterrole/platter-volumes",
            "clusterrolebinding/platter-volumes",
            "clusterrolebinding/platter-volumes-resizer");
    for (var name : new String[] {"platter-volumes", "platter-volumes-resizer"}) {
      shared().kubectl("-n", "platter-system", "delete", "role,rolebinding,serviceaccount", name);
    }
    // Kubelets never take back the labels of a driver.
    shared().kubectl("label", "nodes", "--all", "local.csi.platter.dev/node-");
    for (var node : shared().kube().nodes()) {
      node.exec("rm", "-rf", POOL);
    }
    sidecars.close();
  }

  static void nothingIsLeft() {
    shared().kubectl("delete", "pvc", "--all", "--timeout=60s");
    shared()
        .await(
            "volumes or snapshots are left",
            () -> shared().kubectl("get", "pv,volumesnapshotcontents", "-o", "name"),
            String::isEmpty);
  }

  static String claim(String name, String mode, String size, String source) {
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

  /** What a volume is made from is on one node, and the scheduler does not know of that. */
  static String pod(String name, String command, String files, String devices, String of) {
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
        .formatted(name, node().name(), command, files, devices, of);
  }

  static String volume(String claim) {
    return "{name: %1$s, persistentVolumeClaim: {claimName: %1$s}},".formatted(claim);
  }
}
