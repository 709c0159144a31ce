package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.fill.FillRun;
import dev.platter.image.Digest;
import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Claims that are filled, at a real API server and with the controller's rights alone. Kubelet,
 * driver and binder are this test; the program of the pod is the real one.
 */
class PopulateAtApiServerTest {
  private static final String CLAIM =
      """
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: %s}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: fast
        resources: {requests: {storage: 1Gi}}
        dataSourceRef: {apiGroup: platter.dev, kind: %s, name: %s%s}
      ---
      """;

  @TempDir static Path work;
  private static ApiServer api;
  private static ApiCluster cluster;

  @BeforeAll
  static void install() throws Exception {
    cluster = ApiCluster.start(work);
    api = cluster.api();
    cluster.apply(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: fast}
        provisioner: csi.example
        ---
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata:
          name: volumepopulators.populator.storage.k8s.io
          annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes/enhancements/pull/2934"}
        spec:
          group: populator.storage.k8s.io
          scope: Cluster
          names: {kind: VolumePopulator, plural: volumepopulators, singular: volumepopulator}
          versions:
          - name: v1beta1
            served: true
            storage: true
            schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
        """);
    api.kubectl(
        "wait", "--for=condition=Established", "crd/volumepopulators.populator.storage.k8s.io");
    cluster.control(Duration.ofMinutes(10));
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  /** The kubelet: runs what the pod says, and tells how it ended. */
  private static void run(Pod pod, Path directory) throws Exception {
    var arguments = pod.getSpec().getContainers().getFirst().getArgs();
    var source = argument(arguments, "--source=").orElseThrow();
    var result = directory.resolveSibling(directory.getFileName() + ".result");
    var wanted =
        new FillRun.Wanted(
            source,
            directory,
            argument(arguments, "--digest=").map(text -> Digest.ofHex(text.substring(7))),
            null,
            Long.parseLong(argument(arguments, "--size=").orElseThrow()),
            Optional.empty(),
            Optional.empty(),
            0,
            0,
            result);
    var phase = "Succeeded";
    try {
      var environment = Map.of("HOME", work + "", "PLATTER_IMAGE_NETWORKS", "127.0.0.0/8");
      FillRun.run(wanted, environment);
    } catch (PlatterException e) {
      phase = "Failed";
    }
    var json = new ObjectMapper().writeValueAsString(Files.readString(result));
    api.kubectl(
        "patch",
        "pod",
        pod.getMetadata().getName(),
        "--subresource=status",
        "-p",
        """
        status:
          phase: %s
          containerStatuses:
          - {name: fill, image: a, imageID: a, ready: false, restartCount: 0, state: {terminated: {exitCode: 0, message: %s}}}
        """
            .formatted(phase, json));
  }

  private static Optional<String> argument(List<String> arguments, String name) {
    return arguments.stream()
        .filter(word -> word.startsWith(name))
        .map(word -> word.substring(name.length()))
        .findFirst();
  }

  private static Path disk(Path directory) throws Exception {
    var raw = Files.write(directory.resolve("disk.raw"), new byte[3 << 20]);
    try (var file = new RandomAccessFile(raw.toFile(), "rw")) {
      var bytes = new byte[1 << 20];
      new Random(7).nextBytes(bytes);
      file.seek(1 << 20);
      file.write(bytes);
    }
    Shell.run(
        "qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", raw, directory.resolve("a.qcow2"));
    return raw;
  }

  @Test
  void aClaimIsBoundToTheVolumeThatTheDiskIsOnAfterAFailure(@TempDir Path directory)
      throws Exception {
    var raw = disk(directory);
    try (var web = FileServer.http(directory)) {
      var source =
          """
          apiVersion: platter.dev/v1alpha1
          kind: DiskImport
          metadata: {name: debian}
          spec: {source: {http: {url: "%s"}}, digest: %s}
          ---
          """;
      // The digest of something else.
      cluster.apply(source.formatted(web.url("a.qcow2"), Digest.of(new byte[1])));
      cluster.apply(CLAIM.formatted("root", "DiskImport", "debian", ""));
      var first = cluster.pod("root");
      cluster.provision(first);
      run(first, Files.createDirectory(directory.resolve("first")));
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> cluster.get("diskimport", "debian", "-o", "jsonpath={.status.claims[0]}"),
              text -> text.contains("Retrying") && text.contains("\"reason\":\"Refused\""));
      assertThat(cluster.get("dimport")).containsPattern("debian +root +False +Refused");
      var prime = first.getMetadata().getName();
      await()
          .until(
              () -> cluster.get("pvc", prime, "-o", "jsonpath={.metadata.deletionTimestamp}"),
              text -> !text.isEmpty());
      api.kubectl("patch", "pvc", prime, "--type=merge", "-p", "metadata: {finalizers: null}");
      api.kubectl("delete", "pv", "pv-" + prime, "--wait=false");
      api.kubectl(
          "patch", "pv", "pv-" + prime, "--type=merge", "-p", "metadata: {finalizers: null}");

      // Put right, it does not wait for the next attempt.
      cluster.apply(
          source.formatted(
              web.url("a.qcow2"), Digest.of(Files.readAllBytes(directory.resolve("a.qcow2")))));
      var second =
          await()
              .atMost(Duration.ofSeconds(60))
              .until(
                  () -> cluster.pod("root"),
                  pod ->
                      !pod.getMetadata().getUid().equals(first.getMetadata().getUid())
                          && pod.getMetadata().getDeletionTimestamp() == null);
      cluster.provision(second);
      var volume = Files.createDirectory(directory.resolve("second"));
      run(second, volume);
      cluster.handOver("root", second);
      await()
          .until(
              () -> cluster.get("diskimport", "debian", "-o", "jsonpath={.status.claims[0].phase}"),
              "Filled"::equals);
      assertThat(cluster.get("dimport")).containsPattern("debian +root +100% +True +Filled");
      assertThat(cluster.get("events", "-o", "jsonpath={.items[*].reason}")).contains("Filled");
      Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", raw, volume.resolve("disk.img"));

      // It stays, and the same manifest changes nothing.
      var again =
          api.apply(
              source.formatted(
                  web.url("a.qcow2"), Digest.of(Files.readAllBytes(directory.resolve("a.qcow2")))),
              "--server-side",
              "--force-conflicts");
      assertThat(again.status()).as(again.output()).isZero();
      assertThat(cluster.get("pods", "-o", "name")).isEmpty();
    }
  }

  @Test
  void whatIsNotValidIsToldByTheSchema() throws Exception {
    for (var spec :
        List.of(
            "{}",
            "{source: {}}",
            "{source: {http: {url: \"file:///etc/passwd\"}}}",
            "{source: {http: {url: \"http://user:secret@a.example/x\"}}}",
            "{source: {registry: {image: \"oci:/etc\"}}}",
            "{source: {registry: {image: \"/etc/passwd\"}}}",
            "{source: {registry: {image: a/b}, http: {url: \"http://a.example/x\"}}}",
            "{source: {s3: {endpoint: \"https://a.example/path\", bucket: b, key: c}}}",
            "{source: {registry: {image: a/b}}, digest: \"md5:1\"}",
            "{source: {registry: {image: a/b}}, format: iso}",
            "{source: {registry: {image: a/b}}, format: tar}")) {
      var result =
          api.apply(
              """
              apiVersion: platter.dev/v1alpha1
              kind: DiskImport
              metadata: {name: wrong}
              spec: %s
              """
                  .formatted(spec),
              "--dry-run=server");
      assertThat(result.status()).as(spec + " " + result.output()).isNotZero();
      assertThat(result.err()).contains("wrong");
    }
    assertThat(api.kubectl("explain", "diskimport.spec.source.s3"))
        .contains("endpoint")
        .contains("The address of the store");
    assertThat(api.kubectl("explain", "diskupload")).contains("kubectl platter upload");
    assertThat(api.kubectl("explain", "diskupload.spec.format"))
        .contains("With tar the file is an archive");
  }

  @Test
  void theKindsAreKnownToWhoeverValidatesDataSources() {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> cluster.get("volumepopulators", "-o", "jsonpath={.items[*].sourceKind.kind}"),
            "DiskImport DiskUpload VirtletVMImage"::equals);
  }

  /** What is left is a claim that is filled with nothing. */
  @Test
  void aReferenceWithANamespaceIsDroppedByTheServerItself() throws Exception {
    cluster.apply(CLAIM.formatted("abroad", "DiskImport", "golden", ", namespace: kube-system"));
    assertThat(cluster.get("pvc", "abroad", "-o", "jsonpath={.spec.dataSourceRef}")).isEmpty();
    cluster.apply(CLAIM.formatted("alone", "DiskImport", "golden", ""));
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () ->
                cluster.get(
                    "events",
                    "--field-selector=involvedObject.name=alone",
                    "-o",
                    "jsonpath={.items[*].message}"),
            text -> text.contains("There is no DiskImport golden."));
    api.kubectl("delete", "pvc", "abroad", "alone", "--wait=false");
  }
}
