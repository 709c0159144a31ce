package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.FillResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Claims that are copies of what was filled, at a real API server and with the controller's rights
 * alone. Kubelet and driver, of snapshots too, are this test.
 */
class OriginalsAtApiServerTest {
  private static final String DIGEST = "sha256:" + "1".repeat(64);
  private static final String READY =
      "{\"status\": {\"readyToUse\": true, \"restoreSize\": \"1Gi\"}}";
  private static final String CLAIM =
      """
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: %s, annotations: {volume.kubernetes.io/selected-node: node1}}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: platter-local
        volumeMode: Block
        resources: {requests: {storage: %s}}
        dataSourceRef: {apiGroup: %s, kind: %s, name: %s}
      ---
      """;

  @TempDir static Path work;
  private static ApiCluster cluster;

  @BeforeAll
  static void install() throws Exception {
    cluster = ApiCluster.start(work);
    for (var kind : new String[] {"VolumeSnapshot", "VolumeSnapshotClass"}) {
      cluster.apply(
          """
          apiVersion: apiextensions.k8s.io/v1
          kind: CustomResourceDefinition
          metadata:
            name: %1$s.snapshot.storage.k8s.io
            annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-csi/external-snapshotter/pull/665"}
          spec:
            group: snapshot.storage.k8s.io
            scope: %2$s
            names: {kind: %3$s, plural: %1$s, singular: %4$s}
            versions:
            - name: v1
              served: true
              storage: true
              subresources: {status: {}}
              schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
          """
              .formatted(
                  kind.equals("VolumeSnapshot") ? "volumesnapshots" : "volumesnapshotclasses",
                  kind.equals("VolumeSnapshot") ? "Namespaced" : "Cluster",
                  kind,
                  kind.toLowerCase(Locale.ROOT)));
    }
    cluster
        .api()
        .kubectl(
            "wait",
            "--for=condition=Established",
            "crd/volumesnapshots.snapshot.storage.k8s.io",
            "crd/volumesnapshotclasses.snapshot.storage.k8s.io");
    cluster.apply(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: platter-local}
        provisioner: local.csi.platter.dev
        volumeBindingMode: WaitForFirstConsumer
        ---
        apiVersion: snapshot.storage.k8s.io/v1
        kind: VolumeSnapshotClass
        metadata: {name: platter-local}
        driver: local.csi.platter.dev
        deletionPolicy: Delete
        """);
    cluster.control(Duration.ofSeconds(1));
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static void ready(String snapshot) {
    cluster
        .api()
        .kubectl(
            "patch",
            "volumesnapshot",
            snapshot,
            "--subresource=status",
            "--type=merge",
            "-p",
            READY);
  }

  private static String phase(String kind, String name) {
    return cluster.get(kind, name, "-o", "jsonpath={.status.claims[*].phase}");
  }

  /** Nobody has any use for it: claims do not go by themselves here. */
  private static void delete(String... claims) {
    for (var claim : claims) {
      cluster.api().kubectl("delete", "pvc", claim, "--wait=false");
      cluster.letGo(claim);
    }
  }

  @Test
  void theSecondClaimIsMadeFromASnapshotOfTheFirst() throws Exception {
    cluster.apply(
        """
        apiVersion: platter.dev/v1alpha1
        kind: DiskImport
        metadata: {name: debian}
        spec: {source: {http: {url: "http://a.example/d"}}, digest: %s}
        ---
        """
                .formatted(DIGEST)
            + CLAIM.formatted("one", "1Gi", "platter.dev", "DiskImport", "debian"));
    var pod = cluster.pod("one");
    cluster.provision(pod);
    run(pod.getMetadata().getName());
    var snapshot =
        await()
            .atMost(Duration.ofSeconds(60))
            .until(
                () ->
                    cluster.get(
                        "volumesnapshots",
                        "-l",
                        "platter.dev/original",
                        "-o",
                        "jsonpath={.items[*].metadata.name}"),
                text -> !text.isEmpty());
    assertThat(cluster.get("volumesnapshot", snapshot, "-o", "jsonpath={.spec}"))
        .contains(pod.getMetadata().getName(), "platter-local");
    assertThat(cluster.get("pvc", "one", "-o", "jsonpath={.status.phase}")).isEqualTo("Pending");
    ready(snapshot);
    cluster.handOver("one", pod);

    cluster.apply(CLAIM.formatted("two", "2Gi", "platter.dev", "DiskImport", "debian"));
    var prime = cluster.prime("two");
    assertThat(prime.getSpec().getDataSource().getName()).isEqualTo(snapshot);
    assertThat(prime.getMetadata().getAnnotations())
        .containsEntry("volume.kubernetes.io/selected-node", "node1");
    cluster.provision(prime);
    cluster.handOver("two", prime);
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> phase("diskimport", "debian"), "Filled Filled"::equals);
    assertThat(cluster.get("diskimport", "debian", "-o", "jsonpath={.status.claims[*].digest}"))
        .isEqualTo(DIGEST + " " + DIGEST);

    delete("one", "two");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> cluster.get("volumesnapshots", "-o", "name"), String::isEmpty);
    assertThat(cluster.get("diskimport", "debian", "-o", "jsonpath={.status.unusedSince}"))
        .isNotEmpty();
  }

  /** The kubelet, on a node that the scheduler has chosen. */
  private static void run(String pod) throws Exception {
    cluster.apply("{apiVersion: v1, kind: Node, metadata: {name: node1}}");
    var binding =
        """
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "%s"}, "target": {"kind": "Node", "name": "node1"}}
        """
            .formatted(pod);
    var file = Files.writeString(work.resolve("binding.json"), binding);
    cluster
        .api()
        .kubectl(
            "create", "--raw", "/api/v1/namespaces/default/pods/" + pod + "/binding", "-f", file);
    var result = new ObjectMapper().writeValueAsString(new FillResult(DIGEST, "Filled", "").text());
    cluster
        .api()
        .kubectl(
            "patch",
            "pod",
            pod,
            "--subresource=status",
            "-p",
            """
            status:
              phase: Succeeded
              containerStatuses:
              - {name: fill, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 0, message: %s}}}
            """
                .formatted(result));
  }

  @Test
  void aClaimIsMadeFromAnImageThatIsThere() throws Exception {
    cluster.apply(
        """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMImage
        metadata: {name: golden}
        spec: {image: "disks.example/debian@%s", storageClassName: platter-local}
        ---
        """
                .formatted(DIGEST)
            + CLAIM.formatted("root", "1Gi", "virtlet.k8s", "VirtletVMImage", "golden"));
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> cluster.get("vmimage", "golden", "-o", "jsonpath={.status.claims[*].phase}"),
            "Waiting"::equals);
    var uid = cluster.get("vmimage", "golden", "-o", "jsonpath={.metadata.uid}");
    cluster.apply(
        """
        apiVersion: snapshot.storage.k8s.io/v1
        kind: VolumeSnapshot
        metadata:
          name: golden
          ownerReferences: [{apiVersion: virtlet.k8s/v1, kind: VirtletVMImage, name: golden, uid: %s, controller: true}]
        spec: {volumeSnapshotClassName: platter-local, source: {persistentVolumeClaimName: golden}}
        """
            .formatted(uid));
    ready("golden");
    // What imports it looks now and then.
    cluster.api().kubectl("annotate", "vmimage", "golden", "look=again");
    var prime = cluster.prime("root");
    assertThat(prime.getSpec().getDataSource().getName()).isEqualTo("golden");
    cluster.provision(prime);
    cluster.handOver("root", prime);
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> phase("vmimage", "golden"), "Filled"::equals);
    assertThat(cluster.get("vmimage", "golden")).containsPattern("golden +true +platter-local");
    delete("root");
    cluster.api().kubectl("delete", "vmimage", "golden");
    cluster.api().kubectl("delete", "volumesnapshot", "golden");
  }
}
