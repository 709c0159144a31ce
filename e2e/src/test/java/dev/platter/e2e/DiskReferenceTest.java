package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.HostPathCsi;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Claims of one namespace are made from disks of another, as the examples have it: by somebody who
 * may edit one namespace and use one disk of the other, which somebody gave who rules that one.
 * qemu-img on the node judges.
 */
class DiskReferenceTest {
  private static final Path EXAMPLES =
      Path.of(System.getProperty("repo.root"), "examples", "cluster");

  /** Rules the other namespace, and nothing else. */
  private static final List<String> OLGA = List.of("-n", "golden", "--as=olga");

  private static final List<String> DANA = List.of("-n", "team", "--as=dana", "--as-group=team");

  /** May edit the namespace as well, and is not in the group. */
  private static final List<String> EVE = List.of("-n", "team", "--as=eve", "--as-group=others");

  private static HostPathCsi driver;

  @BeforeAll
  static void start() {
    driver = HostPathCsi.start(shared().kube(), shared().kube().node(1));
    shared().kubectl("create", "namespace", "team");
    for (var user : List.of("dana", "eve")) {
      shared()
          .kubectl(
              "-n", "team", "create", "rolebinding", user, "--clusterrole=edit", "--user=" + user);
    }
  }

  /** The cluster is not ours alone. */
  @AfterAll
  static void putBack() {
    shared()
        .kubectl("delete", "namespace", "team", "golden", "--ignore-not-found", "--timeout=120s");
    shared().kubectl("delete", "clusterrole", "disks-edit", "--ignore-not-found");
    shared()
        .await(
            "volumes are left", () -> shared().kubectl("get", "pv", "-o", "name"), String::isEmpty);
    driver.close();
  }

  private static Shell.Result apply(List<String> user, String yaml) throws IOException {
    var file = Files.writeString(Files.createTempFile(shared().work(), "object", ".yaml"), yaml);
    return in(user, "apply", "-f", file.toString());
  }

  private static Shell.Result in(List<String> user, String... words) {
    return shared().kube().tryKubectl(Stream.concat(user.stream(), Stream.of(words)).toArray());
  }

  private static String example(String name) throws IOException {
    return Files.readString(EXAMPLES.resolve(name));
  }

  private static void may(List<String> user, String verb) {
    shared()
        .await(
            "the roles do not have the rights that were added to them",
            () -> in(user, "auth", "can-i", verb, "diskimports.platter.dev").out(),
            text -> text.startsWith("yes"));
  }

  /** The administrator's part of the example, and then that of who rules the namespace. */
  private static void golden(String example) throws IOException {
    var owners = example.indexOf("---\n# From here on");
    shared().apply(example.substring(0, owners));
    shared()
        .kubectl(
            "-n", "golden", "create", "rolebinding", "olga", "--clusterrole=admin", "--user=olga");
    may(OLGA, "use");
    var made = apply(OLGA, example.substring(owners));
    assertThat(made.status()).as(made.output()).isZero();
  }

  private static String claim() throws IOException {
    return example("golden-claim.yaml")
        .replace("storageClassName: fast", "storageClassName: " + HostPathCsi.AT_ONCE)
        .replace("storage: 10Gi", "storage: 160Mi");
  }

  private static String said(String path) {
    return in(DANA, "get", "diskimport", "debian-12", "-o", "jsonpath={.status" + path + "}").out();
  }

  private static void isThere(String claim, Path disk) {
    var volume = in(DANA, "get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}").out();
    var handle = shared().kubectl("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}");
    var path = "/var/lib/kubelet/plugins/csi-hostpath/data/" + handle;
    assertThat(
            shared()
                .kube()
                .node(1)
                .exec("qemu-img", "compare", "-f", "raw", "-F", "qcow2", path, disk))
        .contains("identical");
  }

  @Test
  void aClaimIsMadeFromADiskOfAnotherNamespaceByWhoMayUseIt() throws Exception {
    var disk = MarkerGuest.qcow2();
    var digest = "sha256:" + Shell.run("sha256sum", disk).substring(0, 64);
    try (var web = FileServer.http(shared().kube().outside(), disk.getParent())) {
      golden(
          example("golden-disks.yaml")
              .replaceFirst("url: .*", "url: " + web.url(disk.getFileName().toString()))
              .replaceFirst("digest: .*", "digest: " + digest));
      may(DANA, "create");
      may(EVE, "create");
      var refused = apply(EVE, claim());
      assertThat(refused.err())
          .contains("user \"eve\" cannot use diskimports.platter.dev \"debian-12\"");
      // Her claim waits for what she may not make.
      assertThat(in(EVE, "get", "diskimport,pods", "-o", "name").out()).isEmpty();
      in(EVE, "delete", "pvc", "--all", "--timeout=60s");

      var made = apply(DANA, claim());
      assertThat(made.status()).as(made.output()).isZero();
      shared().await("the claim is not filled", () -> said(".claims[0].phase"), "Filled"::equals);
      assertThat(said(".claims[0].digest")).isEqualTo(digest);
      isThere("web-root", disk);
    }

    // The owner names another place for another disk, and then no more: what is filled stays.
    var changed =
        in(
            OLGA,
            "patch",
            "diskimport",
            "debian-12",
            "--type=merge",
            "-p",
            "{\"spec\": {\"digest\": null, \"source\": {\"http\": null, \"registry\": {\"image\":"
                + " \"%s\"}}}}".formatted(shared().markerByDigest()));
    assertThat(changed.status()).as(changed.output()).isZero();
    var more = apply(DANA, claim().replace("web-root", "from-registry"));
    assertThat(more.status()).as(more.output()).isZero();
    shared()
        .await(
            "the second claim is not filled",
            () -> said(".claims[?(@.name=='from-registry')].phase"),
            "Filled"::equals);
    isThere("from-registry", disk);
    in(OLGA, "delete", "diskimport", "debian-12");
    apply(DANA, claim().replace("web-root", "late"));
    shared()
        .await(
            "the third claim does not say what it waits for",
            () -> said(".claims[?(@.name=='late')].message"),
            "There is no DiskImport golden/debian-12."::equals);
    isThere("web-root", disk);
    assertThat(in(DANA, "get", "pvc,pods", "-o", "name").out()).doesNotContain("platter-fill-");
  }
}
