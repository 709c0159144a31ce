package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.platter.model.PlatterException;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * DataVolumes at a real API server, with the controller's rights alone. Kubelet, driver, binder and
 * garbage collector are this test, or nobody.
 */
class DataVolumesAtApiServerTest {
  private static final String VOLUME =
      """
      apiVersion: cdi.kubevirt.io/v1beta1
      kind: DataVolume
      metadata: {name: %s}
      spec: %s
      """;
  private static final String STORAGE =
      "storage: {storageClassName: fast, resources: {requests: {storage: 1Gi}}}";

  @TempDir static Path work;
  private static ApiServer api;
  private static ApiCluster cluster;

  @BeforeAll
  static void install() throws Exception {
    cluster = ApiCluster.start(work, true);
    api = cluster.api();
    cluster.apply(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: fast}
        provisioner: csi.example
        """);
    var authority = Authority.make("ours", Validity.ALWAYS);
    cluster.control(Duration.ofMinutes(10), () -> authority);
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static String field(String kind, String name, String path) {
    return cluster.get(kind, name, "--ignore-not-found", "-o", "jsonpath={" + path + "}");
  }

  private static void comes(String kind, String name, String path, String value) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> field(kind, name, path), text -> text.contains(value));
  }

  @Test
  void theExampleBecomesClaimsAndWhatFillsThem() throws Exception {
    var root = Path.of(System.getProperty("repo.root"));
    cluster.apply(Files.readString(root.resolve("examples/cluster/datavolumes.yaml")));
    var source = ".spec.dataSourceRef";
    comes("pvc", "debian-12", source, "DiskImport");
    comes("pvc", "web-root", source, "\"kind\":\"PersistentVolumeClaim\",\"name\":\"debian-12\"");
    comes("pvc", "sent", source, "DiskUpload");
    comes("pvc", "web-data", ".spec.volumeMode", "Block");
    assertThat(field("pvc", "web-data", source)).isEmpty();
    assertThat(field("diskimport", "debian-12", ".spec.source.http.url"))
        .isEqualTo("https://example.org/debian-12.qcow2.xz");
    assertThat(field("diskupload", "sent", ".spec.immediate")).isEqualTo("true");
    assertThat(field("pvc", "debian-12", ".spec.resources.requests.storage"))
        .isEqualTo(Long.toString(10304L << 20));
    for (var made : new String[] {"pvc/sent", "diskupload/sent"}) {
      var kind = made.split("/")[0];
      assertThat(field(kind, "sent", ".metadata.ownerReferences[0].uid"))
          .isEqualTo(field("dv", "sent", ".metadata.uid"));
    }
    comes("dv", "sent", ".status.phase", "UploadScheduled");
    comes("dv", "web-root", ".status.phase", "CSICloneInProgress");
    comes("dv", "debian-12", ".status.phase", "ImportScheduled");
    assertThat(cluster.get("dv")).containsPattern("NAME +PHASE +PROGRESS +RESTARTS +AGE");
    assertThat(cluster.get("dv", "sent")).containsPattern("sent +UploadScheduled +N/A");
    try (var client = api.client()) {
      assertThat(Uninstall.left(client)).contains("dv default/sent");
    }
    api.kubectl("delete", "dv", "debian-12", "web-root", "web-data", "sent");
    // Nobody else collects here, and what protects claims does not let go.
    api.kubectl("delete", "diskimport,diskupload,pods", "--all", "--wait=false");
    api.kubectl("delete", "pvc", "debian-12", "web-root", "web-data", "sent", "--wait=false");
  }

  @Test
  void anImportIsFollowedToItsEnd() throws Exception {
    cluster.apply(
        VOLUME.formatted(
            "whole", "{source: {http: {url: \"http://a.example/x\"}}, " + STORAGE + "}"));
    comes("pvc", "whole", ".metadata.name", "whole");
    var pod = cluster.pod("whole");
    cluster.provision(pod);
    api.kubectl(
        "patch",
        "pod",
        pod.getMetadata().getName(),
        "--subresource=status",
        "-p",
        """
        status:
          phase: Succeeded
          containerStatuses:
          - {name: fill, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 0, message: '{"digest":"sha256:%s","reason":"Filled","message":""}'}}}
        """
            .formatted("1".repeat(64)));
    comes("pv", "pv-" + pod.getMetadata().getName(), ".spec.claimRef.name", "whole");
    api.kubectl(
        "patch",
        "pvc",
        "whole",
        "-p",
        "spec: {volumeName: pv-" + pod.getMetadata().getName() + "}");
    api.kubectl("patch", "pvc", "whole", "--subresource=status", "-p", "status: {phase: Bound}");
    comes("dv", "whole", ".status.phase", "Succeeded");
    assertThat(field("dv", "whole", ".status.claimName")).isEqualTo("whole");
    assertThat(field("dv", "whole", ".status.conditions[*].status")).isEqualTo("True True False");
    assertThat(field("dv", "whole", ".status.conditions[*].type")).isEqualTo("Bound Ready Running");
    assertThat(cluster.get("dv", "whole")).containsPattern("whole +Succeeded +100.0%");
  }

  @Test
  void aBlankOneWhoseClaimIsDeletedHasANewOne() throws Exception {
    cluster.apply(VOLUME.formatted("blank", "{source: {blank: {}}, " + STORAGE + "}"));
    comes("pvc", "blank", ".metadata.name", "blank");
    api.kubectl(
        "patch",
        "pvc",
        "blank",
        "--subresource=status",
        "-p",
        "{\"status\":{\"phase\":\"Bound\"}}");
    comes("dv", "blank", ".status.phase", "Succeeded");
    var first = field("pvc", "blank", ".metadata.uid");
    api.kubectl("patch", "pvc", "blank", "-p", "{\"metadata\":{\"finalizers\":null}}");
    api.kubectl("delete", "pvc", "blank", "--wait=false");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> field("pvc", "blank", ".metadata.uid"),
            uid -> !uid.isEmpty() && !uid.equals(first));
    api.kubectl("delete", "dv", "blank");
    api.kubectl("delete", "pvc", "blank", "--wait=false");
  }

  @Test
  void whatIsNotDoneIsKeptAndToldAndCannotBeChanged() throws Exception {
    cluster.apply(
        VOLUME.formatted("old", "{source: {gcs: {url: x}}, preallocation: true, " + STORAGE + "}"));
    comes("dv", "old", ".status.phase", "Failed");
    assertThat(field("dv", "old", ".spec.source.gcs.url")).isEqualTo("x");
    assertThat(field("dv", "old", ".status.conditions[1].message"))
        .contains("spec.source.gcs is not what Platter fills claims from");
    var events = "--field-selector=involvedObject.name=old";
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> cluster.get("events", events, "-o", "jsonpath={.items[*].reason}"),
            "ErrClaimNotValid"::equals);
    assertThat(field("pvc", "old", ".metadata.name")).isEmpty();
    for (var change :
        new String[] {"{source: {gcs: null, blank: {}}}", "{source: {gcs: {url: y}}}"}) {
      var changed = api.tryKubectl("patch", "dv", "old", "--type=merge", "-p", "spec: " + change);
      assertThat(changed.err()).as(change).contains("a DataVolume cannot be changed");
    }
    // What the schema of a DiskImport does not take.
    cluster.apply(
        VOLUME.formatted(
            "local", "{source: {http: {url: \"file:///etc/passwd\"}}, " + STORAGE + "}"));
    comes("dv", "local", ".status.conditions[1].reason", "ErrClaimNotValid");
    assertThat(field("dv", "local", ".status.conditions[1].message")).contains("source.http.url");
    assertThat(field("pvc", "local", ".metadata.name")).isEmpty();
    assertThat(api.kubectl("explain", "dv.spec.source.s3")).contains("the API of S3");
    api.kubectl("delete", "dv", "old", "local");
  }

  @Test
  void aDefinitionOfSomebodyElsesIsNotReplaced() throws Exception {
    try (var client = api.client()) {
      ForeignCdi.refuseIfThere(client, Install.DEFAULT_NAMESPACE);
      var kind = "crd/datavolumes.cdi.kubevirt.io";
      api.kubectl("label", kind, "app.kubernetes.io/part-of-");
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> ForeignCdi.refuseIfThere(client, Install.DEFAULT_NAMESPACE))
          .withMessageContaining("DataVolumes that are not Platter's");
      assertThat(Uninstall.left(client)).noneMatch(left -> left.startsWith("dv "));
      api.kubectl("label", kind, "app.kubernetes.io/part-of=platter");
    }
  }
}
