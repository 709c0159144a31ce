package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A VM that writes more than the file system of its claim takes. */
class FullClaimTest {
  private static final String VOLUME = "/var/lib/platter/test-small";

  private final KubeNode node = shared().kube().node(1);

  @BeforeEach
  void makeVolume() {
    node.exec("mkdir", "-p", VOLUME);
    node.exec("mount", "-t", "tmpfs", "-o", "size=40m", "none", VOLUME);
  }

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "vm,pods", "--all", "--timeout=90s");
    shared().kubectl("delete", "pvc/full", "pv/full", "--timeout=60s");
    shared().await("left on node1", () -> shared().leftOn(node), String::isEmpty);
    node.exec("umount", VOLUME);
    node.exec("rmdir", VOLUME);
  }

  @Test
  void aGuestThatFindsNoRoomWaitsAndItsPodSaysWhy() {
    shared()
        .apply(
            """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: full}
        spec:
          capacity: {storage: 32Mi}
          accessModes: [ReadWriteOnce]
          storageClassName: by-hand
          claimRef: {namespace: default, name: full}
          local: {path: %s}
          nodeAffinity:
            required:
              nodeSelectorTerms:
              - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node1]}]
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: full}
        spec:
          storageClassName: by-hand
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 32Mi}}
        ---
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: full}
        spec:
          cloudInit:
            userData: |
              #cloud-config
              #marker: sh -c 'exec >/dev/ttyS0 2>&1; d=$(disk data); for n in $(seq 0 27); do dd if=/dev/urandom of=$d bs=1M count=1 seek=$n conv=notrunc,fsync status=none || { echo; echo @@FAILED; }; sleep 1; done; echo; echo @@WRITTEN' &
          domain:
            memory: {guest: 96Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}}
              - {name: data, source: {pvc: full}}
        """
                .formatted(VOLUME, shared().marker()));
    shared().awaitLog("full", "^@@READY");
    node.exec("fallocate", "-l", "34M", VOLUME + "/ballast");

    shared().await("the VM says nothing", () -> ready("reason"), "DiskFull"::equals);
    assertThat(ready("message")).contains("the disk data has no room");
    shared().kubectl("wait", "--for=condition=Ready=False", "pod/full", "--timeout=60s");
    assertThat(shared().kubectl("get", "vm", "full")).containsPattern("full +Running +False");
    assertThat(shared().kubectl("logs", "full")).doesNotContainPattern("(?m)^@@WRITTEN");

    node.exec("rm", VOLUME + "/ballast");
    assertThat(shared().awaitLog("full", "^@@WRITTEN")).doesNotContainPattern("(?m)^@@FAILED");
    shared().kubectl("wait", "--for=condition=Ready", "vm/full", "pod/full", "--timeout=60s");
    assertThat(shared().kubectl("get", "events")).containsPattern("Warning +DiskFull +pod/full");
  }

  private static String ready(String what) {
    return shared()
        .kubectl(
            "get",
            "vm",
            "full",
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"Ready\")]." + what + "}");
  }
}
