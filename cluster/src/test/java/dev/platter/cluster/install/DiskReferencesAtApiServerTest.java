package dev.platter.cluster.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.platter.lab.Shell;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Who may name a disk of another namespace, as a real API server decides it for users who are no
 * administrators; and what the controller makes of it, with its own rights alone.
 *
 * <p>All of them may write DiskImports in {@code team} and in {@code default}. In {@code golden},
 * jane may do everything but use what is there, joe may use {@code debian}, those of the group
 * {@code devs} all of it, and admin may do everything. Mary may use all in {@code other}.
 */
class DiskReferencesAtApiServerTest {
  @TempDir static Path work;
  private static ApiServer api;
  private static ApiCluster cluster;

  @BeforeAll
  static void install() throws Exception {
    cluster = ApiCluster.start(work);
    api = cluster.api();
    for (var namespace : List.of("team", "golden", "other")) {
      api.kubectl("create", "namespace", namespace);
    }
    cluster.apply(
        """
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: writes-disks}
        rules:
        - apiGroups: [platter.dev]
          resources: [diskimports, diskimports/status]
          verbs: [get, list, watch, create, update, patch, delete, deletecollection]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: uses-disks}
        rules: [{apiGroups: [platter.dev], resources: [diskimports], verbs: [use]}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: uses-debian}
        rules: [{apiGroups: [platter.dev], resources: [diskimports], resourceNames: [debian], verbs: [use]}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: uses-something-else}
        rules:
        - {apiGroups: [platter.dev], resources: [diskuploads, virtualmachines], verbs: ['*']}
        - {apiGroups: [""], resources: ['*'], verbs: ['*']}
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: does-everything}
        rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]
        """);
    for (var namespace : List.of("team", "default")) {
      bind(namespace, "writes-disks", "--group=system:authenticated");
    }
    bind("golden", "writes-disks", "--user=jane");
    bind("golden", "uses-something-else", "--user=jane");
    bind("golden", "uses-debian", "--user=joe");
    bind("golden", "uses-disks", "--group=devs", "--group=system:serviceaccounts:team");
    bind("golden", "does-everything", "--user=owner");
    bind("other", "uses-disks", "--user=mary");
    cluster.apply(disk("golden", "debian", "{http: {url: \"http://a.example/d.qcow2\"}}"));
    // The server knows a new policy a moment later.
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> create("jane", "probe", "golden", "debian", "--dry-run=server").status() != 0);
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static void bind(String namespace, String role, String... whom) {
    var words = new ArrayList<Object>(List.of("create", "rolebinding", role, "-n", namespace));
    words.add("--clusterrole=" + role);
    words.addAll(Arrays.asList(whom));
    words.set(2, role + "-" + Integer.toHexString(Arrays.hashCode(whom)));
    api.kubectl(words.toArray());
  }

  private static String disk(String namespace, String name, String source) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: DiskImport
    metadata: {name: %s, namespace: %s}
    spec: {source: %s}
    ---
    """
        .formatted(name, namespace, source);
  }

  private static String naming(String namespace, String name) {
    return "{diskImport: {namespace: %s, name: %s}}".formatted(namespace, name);
  }

  /**
   * @param who a user, or one of a group as {@code user,group}
   */
  private static Shell.Result as(String who, Object... words) {
    var all = new ArrayList<Object>(Arrays.asList(words));
    var names = List.of(who.split(","));
    all.add("--as=" + names.getFirst());
    names.stream().skip(1).forEach(group -> all.add("--as-group=" + group));
    return api.tryKubectl(all.toArray());
  }

  private static Shell.Result with(String who, String yaml, Object... words) throws IOException {
    var file = Files.writeString(Files.createTempFile(work, "object", ".yaml"), yaml);
    var all = new ArrayList<Object>(Arrays.asList(words));
    all.addAll(List.of("-f", file));
    return as(who, all.toArray());
  }

  private static Shell.Result create(
      String who, String name, String from, String referred, Object... more) throws IOException {
    var words = new ArrayList<Object>(List.of("create"));
    words.addAll(Arrays.asList(more));
    return with(who, disk("team", name, naming(from, referred)), words.toArray());
  }

  private static Shell.Result patch(String who, String name, String patch, Object... more) {
    var words =
        new ArrayList<Object>(List.of("patch", "diskimport", name, "-n", "team", "--type=merge"));
    words.addAll(List.of("-p", patch));
    words.addAll(Arrays.asList(more));
    return as(who, words.toArray());
  }

  private static void refused(Shell.Result result) {
    assertThat(result.status()).as(result.output()).isNotZero();
    assertThat(result.err())
        .contains("Forbidden")
        .containsPattern(
            "user \"\\S+\" cannot use diskimports.platter.dev \"\\S+\" in the namespace \"\\S+\"");
  }

  private static void done(Shell.Result result) {
    assertThat(result.status()).as(result.output()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "joe | golden | debian",
        "someone,devs | golden | debian",
        "someone,devs | golden | another",
        "someone,others,devs | golden | debian",
        "system:serviceaccount:team:builder | golden | debian",
        "owner | golden | debian",
        "mary | other | debian",
        "admin,system:masters | golden | debian",
        "jane | team | debian", // a claim there can name it as well
      })
  void whoMayUseItCanNameIt(String who, String namespace, String name) throws IOException {
    done(create(who, "allowed", namespace, name));
    api.kubectl("delete", "diskimport", "allowed", "-n", "team");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "jane | golden | debian",
        "joe | golden | another",
        "joe | golden | debian.more",
        "joe | other | debian",
        "mary | golden | debian",
        "someone,devs | other | debian",
        "someone,others | golden | debian",
        "system:serviceaccount:other:builder | golden | debian",
        "owner | kube-system | debian",
        "devs | golden | debian", // a user who is called like the group
      })
  void whoMayNotIsRefusedHoweverItIsWritten(String who, String namespace, String name)
      throws IOException {
    refused(create(who, "refused", namespace, name));
    refused(create(who, "refused", namespace, name, "--dry-run=server"));
    var yaml = disk("team", "refused", naming(namespace, name));
    refused(with(who, yaml, "apply"));
    refused(with(who, yaml, "apply", "--server-side"));
    assertThat(api.kubectl("get", "diskimports", "-n", "team", "-o", "name"))
        .doesNotContain("refused");
  }

  /** What is not there looks like what nobody may use. */
  @Test
  void aRefusalSaysNothingOfWhatIsThere() throws IOException {
    var there = create("mary", "refused", "golden", "debian").err();
    var absent = create("mary", "refused", "golden", "windows").err();
    var nowhere = create("mary", "refused", "nowhere", "debian").err();
    var file = "\"[^\"]+object[^\"]+\"";
    assertThat(there.replaceAll(file, ""))
        .contains("diskimports.platter.dev \"debian\"")
        .isEqualTo(absent.replace("windows", "debian").replaceAll(file, ""))
        .isEqualTo(nowhere.replace("nowhere", "golden").replaceAll(file, ""));
  }

  @Test
  void aChangeOfTheReferenceIsAskedAboutAndNoOther() throws IOException {
    done(create("joe", "kept", "golden", "debian"));
    // Jane may not use it, and takes care of the object.
    done(as("jane", "label", "diskimport", "kept", "-n", "team", "a=b"));
    done(patch("jane", "kept", "{\"spec\": {\"immediate\": true}}"));
    done(patch("jane", "kept", "{\"metadata\": {\"finalizers\": [\"a.example/b\"]}}"));
    done(patch("jane", "kept", "{\"metadata\": {\"finalizers\": null}}"));
    var same = api.kubectl("get", "diskimport", "kept", "-n", "team", "-o", "yaml");
    done(with("jane", same, "replace"));

    refused(patch("jane", "kept", "{\"spec\": {\"source\": {\"diskImport\": {\"name\": \"x\"}}}}"));
    refused(patch("joe", "kept", "{\"spec\": {\"source\": {\"diskImport\": {\"name\": \"x\"}}}}"));
    refused(
        patch(
            "joe",
            "kept",
            "{\"spec\": {\"source\": {\"diskImport\": {\"namespace\": \"other\"}}}}"));
    refused(with("jane", same.replace("name: debian", "name: another"), "replace"));
    refused(with("jane", disk("team", "kept", naming("golden", "debian")), "replace", "--force"));

    // By then it is gone; and what names none cannot come to name one.
    var http = "{http: {url: \"http://a.example/x\"}}";
    done(with("jane", disk("team", "kept", http), "create"));
    refused(with("jane", disk("team", "kept", naming("golden", "debian")), "replace"));
    done(with("joe", disk("team", "kept", naming("golden", "debian")), "replace"));
    done(with("jane", disk("team", "kept", http), "replace"));
    api.kubectl("delete", "diskimport", "kept", "-n", "team");
  }

  @Test
  void aStatusBringsNoReference() throws IOException {
    done(with("jane", disk("team", "quiet", "{http: {url: \"http://a.example/x\"}}"), "create"));
    patch(
        "jane",
        "quiet",
        "{\"spec\": {\"source\": {\"http\": null, \"diskImport\": {\"namespace\": \"golden\","
            + " \"name\": \"debian\"}}}, \"status\": {\"observedGeneration\": 7}}",
        "--subresource=status");
    assertThat(api.kubectl("get", "diskimport", "quiet", "-n", "team", "-o", "jsonpath={.spec}"))
        .contains("http")
        .doesNotContain("golden");
    api.kubectl("delete", "diskimport", "quiet", "-n", "team");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{diskImport: {name: debian}} | namespace: Required",
        "{diskImport: {namespace: golden}} | name: Required",
        "{diskImport: {namespace: '', name: debian}} | namespace",
        "{diskImport: {namespace: golden, name: ''}} | name",
        "{diskImport: {namespace: golden, name: '*'}} | should match",
        "{diskImport: {namespace: golden, name: debian}, http: {url: 'http://a.example/x'}} | Too many",
        "{diskImport: {namespace: golden, name: debian}}, format: raw | the format is said by",
      })
  void whatIsNoReferenceIsToldByTheSchema(String source, String why) throws IOException {
    var result = with("owner", disk("team", "wrong", source), "create");
    assertThat(result.status()).isNotZero();
    assertThat(result.err()).contains(why);
  }

  @Test
  void itIsExplained() {
    assertThat(api.kubectl("explain", "diskimport.spec.source.diskImport"))
        .contains("the verb use on", "namespace", "name");
    assertThat(api.kubectl("explain", "diskimport.status")).contains("observedSource");
    assertThat(api.kubectl("explain", "diskupload.status")).doesNotContain("observedSource");
  }

  /** The policy is there before the kind, and the controller's own rights did not grow. */
  @Test
  void nobodyCanWriteAReferenceBeforeSomebodyAsks() {
    var yaml =
        Install.yaml(
            new Install.Options(
                "vms",
                "a",
                "Never",
                List.of(),
                "loop*",
                Install.ImageBounds.NONE,
                List.of(),
                "/k",
                false,
                false));
    assertThat(yaml.indexOf("policyName: platter-disk-references"))
        .isPositive()
        .isLessThan(yaml.indexOf("name: diskimports.platter.dev"));
    assertThat(yaml).doesNotContain("subjectaccessreviews");
  }

  private static Pod podFrom(String url) {
    return await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> cluster.pod("root"),
            pod ->
                pod.getMetadata().getDeletionTimestamp() == null
                    && pod.getSpec()
                        .getContainers()
                        .getFirst()
                        .getArgs()
                        .contains("--source=" + url));
  }

  private static String said(String path) {
    return cluster.get("diskimport", "base", "-o", "jsonpath={.status" + path + "}");
  }

  @Test
  void theControllerFollowsAReferenceAndWhatBecomesOfIt() throws Exception {
    cluster.apply(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: fast}
        provisioner: csi.example
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: root}
        spec:
          accessModes: [ReadWriteOnce]
          storageClassName: fast
          resources: {requests: {storage: 1Gi}}
          dataSourceRef: {apiGroup: platter.dev, kind: DiskImport, name: base}
        """);
    done(with("someone,devs", disk("default", "base", naming("golden", "moving")), "create"));
    cluster.control(Duration.ofMinutes(10));
    await().until(() -> said(".claims[0].reason"), "NotFound"::equals);
    assertThat(said(".claims[0].message")).isEqualTo("There is no DiskImport golden/moving.");
    assertThat(cluster.get("dimport")).containsPattern("base +root +False +NotFound");

    var one = "http://a.example/one";
    cluster.apply(disk("golden", "moving", "{http: {url: \"%s\"}}".formatted(one)));
    var first = podFrom(one);
    cluster.provision(first);
    var two = "http://a.example/two";
    cluster.apply(disk("golden", "moving", "{http: {url: \"%s\"}}".formatted(two)));
    podFrom(two);
    assertThat(said(".observedSource")).endsWith("/2");

    api.kubectl("delete", "diskimport", "moving", "-n", "golden");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> said(".claims[0].reason") + cluster.get("pods", "-o", "name"),
            "NotFound"::equals);
    assertThat(
            cluster.get(
                "events",
                "--field-selector=involvedObject.name=root",
                "-o",
                "jsonpath={.items[*].message}"))
        .contains("There is no DiskImport golden/moving.");
    var secret = "{http: {url: \"%s\", secretRef: {name: mine}}}".formatted(one);
    cluster.apply(disk("golden", "moving", secret));
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> said(".claims[0].reason"), "Unsupported"::equals);
    assertThat(cluster.get("pods", "-o", "name")).isEmpty();
  }
}
