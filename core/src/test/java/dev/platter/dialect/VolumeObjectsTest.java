package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ByteSize;
import dev.platter.model.Claim;
import dev.platter.model.Endpoint;
import dev.platter.model.PlatterException;
import dev.platter.model.Volume;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VolumeObjectsTest {
  private static PlatterException refused(String text) {
    return catchThrowableOfType(PlatterException.class, () -> Manifests.objects("t.yaml", text));
  }

  /** Shortened nowhere: this is what {@code kubectl get -o yaml} prints. */
  @Test
  void objectsAreReadAsAClusterPrintsThem() {
    var volumes =
        Manifests.objects(
                "t.yaml",
                """
                apiVersion: v1
                kind: PersistentVolumeClaim
                metadata:
                  annotations:
                    pv.kubernetes.io/bind-completed: "yes"
                    volume.kubernetes.io/storage-provisioner: rbd.csi.ceph.com
                  creationTimestamp: "2024-05-02T09:12:03Z"
                  finalizers: [kubernetes.io/pvc-protection]
                  name: data
                  namespace: prod
                  resourceVersion: "4711"
                  uid: 3f6e2a9a-6f0c-4b87-8e34-0d2d6d0f6a11
                spec:
                  accessModes: [ReadWriteOnce]
                  resources:
                    requests:
                      storage: 20Gi
                  storageClassName: csi-rbd-sc
                  volumeMode: Block
                  volumeName: pvc-3f6e2a9a
                status:
                  accessModes: [ReadWriteOnce]
                  capacity: {storage: 20Gi}
                  phase: Bound
                ---
                apiVersion: v1
                kind: PersistentVolume
                metadata:
                  annotations: {pv.kubernetes.io/provisioned-by: rbd.csi.ceph.com}
                  finalizers: [kubernetes.io/pv-protection]
                  name: pvc-3f6e2a9a
                spec:
                  accessModes: [ReadWriteOnce]
                  capacity: {storage: 20Gi}
                  claimRef:
                    apiVersion: v1
                    kind: PersistentVolumeClaim
                    name: data
                    namespace: prod
                    resourceVersion: "4700"
                    uid: 3f6e2a9a-6f0c-4b87-8e34-0d2d6d0f6a11
                  csi:
                    controllerExpandSecretRef: {name: csi-rbd-secret, namespace: ceph-csi}
                    driver: rbd.csi.ceph.com
                    nodeStageSecretRef: {name: csi-rbd-secret, namespace: ceph-csi}
                    volumeAttributes:
                      clusterID: b9127830-b0cc-4e34-aa47-9d1a2e9949a8
                      imageFeatures: layering
                      imageName: csi-vol-9a1b
                      journalPool: kube
                      pool: kube
                      storage.kubernetes.io/csiProvisionerIdentity: 1714-8081-rbd.csi.ceph.com
                    volumeHandle: 0001-0024-b9127830-0000000000000002-9a1b
                  mountOptions: [discard]
                  persistentVolumeReclaimPolicy: Delete
                  storageClassName: csi-rbd-sc
                  volumeMode: Block
                status: {phase: Bound}
                """)
            .volumes();
    assertThat(volumes.claims().get("prod/data"))
        .isEqualTo(
            new Claim(
                "prod",
                "data",
                "pvc-3f6e2a9a",
                true,
                Set.of(Claim.Mode.READ_WRITE_ONCE),
                ByteSize.parse("20Gi"),
                "csi-rbd-sc",
                "",
                ""));
    assertThat(volumes.volumes().get("pvc-3f6e2a9a"))
        .isEqualTo(
            new Volume(
                "pvc-3f6e2a9a",
                "prod/data",
                true,
                null,
                false,
                new Volume.Rbd(
                    List.of(),
                    "b9127830-b0cc-4e34-aa47-9d1a2e9949a8",
                    "kube",
                    "csi-vol-9a1b",
                    new Volume.Login(null, "userID", "ceph-csi", "csi-rbd-secret", "userKey")),
                null,
                new Volume.Offer(
                    ByteSize.parse("20Gi"), Set.of(Claim.Mode.READ_WRITE_ONCE), "csi-rbd-sc")));
  }

  @Test
  void rooksConfigMapIsReadAndOthersAreNot() {
    var json = "'[{\"clusterID\":\"a\",\"monitors\":[\"192.0.2.1:6789\"],\"namespace\":\"rook\"}]'";
    assertThat(
            Manifests.objects(
                    "t.yaml",
                    "kind: ConfigMap\nmetadata: {name: rook-ceph-csi-config}\ndata: {csi-cluster-config-json: "
                        + json
                        + "}\n---\nkind: ConfigMap\nmetadata: {name: app}\ndata: {config.json: '{'}\n")
                .volumes()
                .clusters())
        .containsOnlyKeys("a")
        .containsEntry("a", List.of(new Endpoint("192.0.2.1", 6789)));
  }

  @Test
  void aListIsReadAsItsItems() {
    var list =
        """
        apiVersion: v1
        kind: List
        items:
        - {kind: PersistentVolume, metadata: {name: v}, spec: {local: {path: /a}}}
        - {kind: PersistentVolume, metadata: {name: w}, spec: {hostPath: {path: /b}}}
        """;
    assertThat(Manifests.objects("t.yaml", list).volumes().volumes()).containsOnlyKeys("v", "w");
    assertThat(refused(list.replace("/b", "b")).details())
        .containsExactly(
            "t.yaml:5: spec.hostPath.path: 'b' is relative, and QEMU starts in another directory;"
                + " write the whole path");
  }

  @Test
  void objectsBesideAVmDoNotChangeItsName() {
    var claim =
        "kind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {resources: {requests: {storage: 1}}}\n";
    var disks = "disks: [{source: {pvc: c}}]\n";
    assertThat(Manifests.objects("web.yaml", claim + "---\n" + disks).vms().getFirst().name())
        .isEqualTo("web");
    assertThat(Manifests.objects("web.yaml", disks + "---\n" + claim + "---\n" + disks).vms())
        .extracting(vm -> vm.name())
        .containsExactly("web-1", "web-2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{}|says not where the volume is",
        "{local: {path: /a}, nfs: {}}|gives local and nfs",
        "{local: {path: a}}|'a' is relative",
        "{local: {}}|'path' is missing",
        "{local: [a]}|expected a mapping",
        "{volumeMode: block, local: {path: /a}}|expected one of Block, Filesystem; found 'block'",
        "{claimRef: x, local: {path: /a}}|expected a mapping",
        "{iscsi: {targetPortal: 'a b', iqn: iqn.x:y}}|'a b' is not the name or address",
        "{iscsi: {targetPortal: a, iqn: nobody}}|'nobody' cannot be used",
        "{iscsi: {targetPortal: a, iqn: iqn.x:y, lun: all}}|expected a whole number",
        "{iscsi: {targetPortal: a, iqn: iqn.x:y, chapAuthSession: true}}|needs a secretRef",
        "{rbd: {monitors: [], image: i}}|give at least one",
        "{rbd: {monitors: a, image: i}}|expected a list",
        "{rbd: {monitors: [a], image: 'a:b'}}|'a:b' cannot be used",
        "{flexVolume: {driver: ceph, options: {pool: p, volume: v}}}|'monitor' is missing",
        "{csi: {driver: rbd.csi.ceph.com}}|'volumeAttributes' is missing",
        "{csi: {driver: rbd.csi.ceph.com, volumeHandle: h, volumeAttributes: {clusterID: c, pool: p}}}|names no image",
        "{csi: {driver: rbd.csi.ceph.com, volumeAttributes: {clusterID: c, pool: p, imageName: i, encrypted: 'true'}}}|encrypted",
      })
  void whatIsWrongWithAVolumeIsNamed(String spec, String message) {
    var refused = refused("kind: PersistentVolume\nmetadata: {name: v}\nspec: " + spec + "\n");
    assertThat(refused.details()).anyMatch(detail -> detail.contains(message));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{}|resources.requests.storage is missing",
        "{resources: {requests: {storage: much}}}|'much' is not a size",
        "{accessModes: [ReadWrite], resources: {requests: {storage: 1}}}|no access mode 'ReadWrite'",
        "{accessModes: ReadWriteOnce, resources: {requests: {storage: 1}}}|expected a list",
      })
  void whatIsWrongWithAClaimIsNamed(String spec, String message) {
    var refused = refused("kind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: " + spec + "\n");
    assertThat(refused.details()).anyMatch(detail -> detail.contains(message));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{|not YAML",
        "{}|expected a list of clusters",
        "[{\"monitors\":[\"a\"]}]|'clusterID' is missing",
        "[{\"clusterID\":\"a\",\"monitors\":[]}]|give at least one",
        "[{\"clusterID\":\"a\",\"monitors\":[\"b\"],\"rbd\":{\"radosNamespace\":\"n\"}}]|RADOS namespaces",
      })
  void whatIsWrongWithTheCephConfigurationIsNamed(String json, String message) {
    var refused =
        refused(
            "kind: ConfigMap\nmetadata: {name: ceph-csi-config}\ndata: {config.json: '"
                + json
                + "'}\n");
    assertThat(refused.details()).anyMatch(detail -> detail.contains(message));
  }
}
