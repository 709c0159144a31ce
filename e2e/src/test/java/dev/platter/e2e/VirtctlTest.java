package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.HostPathCsi;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.lab.Virtctl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** KubeVirt's own client sends disks to a cluster that has no CDI; qemu-img on the node judges. */
class VirtctlTest {
  private static final String NAMESPACE = "platter-system";
  private static final String SENDER = "system:serviceaccount:default:sender";
  private static final String READER = "system:serviceaccount:default:reader";
  private static Path virtctl;
  private static HostPathCsi driver;

  @BeforeAll
  static void start() {
    virtctl = Virtctl.program();
    driver = HostPathCsi.start(shared().kube(), shared().kube().node(1));
    shared().install("--cdi");
    shared()
        .kubectl(
            "-n", NAMESPACE, "rollout", "status", "deployment/platter-uploads", "--timeout=120s");
    shared()
        .kubectl(
            "wait",
            "--for=condition=Available",
            "apiservice/v1beta1.upload.cdi.kubevirt.io",
            "--timeout=60s");
    // What the documentation says that people need, and no more.
    shared()
        .apply(
            """
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata: {name: sees-storage-classes}
            rules:
            - {apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: [get]}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata: {name: sees-storage-classes}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sees-storage-classes}
            subjects:
            - {kind: ServiceAccount, name: sender, namespace: default}
            - {kind: ServiceAccount, name: reader, namespace: default}
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata: {name: sender}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
            subjects: [{kind: ServiceAccount, name: sender, namespace: default}]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata: {name: reader}
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
            subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
            """);
  }

  /** The cluster is not ours alone. */
  @AfterAll
  static void putBack() {
    shared().kubectl("delete", "dv,pvc,pods", "--all", "--timeout=60s");
    shared()
        .await(
            "volumes are left", () -> shared().kubectl("get", "pv", "-o", "name"), String::isEmpty);
    driver.close();
    shared()
        .kubectl(
            "delete",
            "apiservice/v1beta1.upload.cdi.kubevirt.io",
            "mutatingwebhookconfiguration/platter-uploads",
            "validatingadmissionpolicybinding/platter-uploads",
            "validatingadmissionpolicy/platter-uploads",
            "clusterrolebinding/platter-uploads",
            "clusterrolebinding/platter-controller-uploads",
            "clusterrole/platter-uploads",
            "clusterrole/platter-controller-uploads",
            "clusterrole/platter-send-disks",
            "clusterrolebinding/platter-controller-datavolumes",
            "clusterrole/platter-controller-datavolumes",
            "clusterrole/platter-make-datavolumes",
            "clusterrole/platter-see-datavolumes");
    shared()
        .kubectl(
            "-n",
            NAMESPACE,
            "delete",
            "deployment/platter-uploads",
            "service/platter-uploads",
            "secret/platter-uploads",
            "serviceaccount/platter-uploads",
            "rolebinding/platter-controller-uploads",
            "role/platter-controller-uploads");
    shared().kubectl("-n", "kube-system", "delete", "rolebinding/platter-controller-front-proxy");
    shared()
        .kubectl(
            "delete",
            "rolebinding/sender",
            "rolebinding/reader",
            "clusterrolebinding/sees-storage-classes",
            "clusterrole/sees-storage-classes");
    shared().install();
    shared().kubectl("delete", "crd/datavolumes.cdi.kubevirt.io");
  }

  private static Shell.Result send(String name, Object... more) {
    return sendAs(SENDER, name, more);
  }

  private static Shell.Result sendAs(String user, String name, Object... more) {
    return upload(user, "pvc", name, more);
  }

  private static Shell.Result sendVolume(String name, Object... more) {
    return upload(SENDER, "dv", name, more);
  }

  private static Shell.Result upload(String user, String kind, String name, Object... more) {
    var address =
        shared()
            .kubectl(
                "-n",
                NAMESPACE,
                "get",
                "pods",
                "-l",
                "app.kubernetes.io/name=platter-uploads",
                "-o",
                "jsonpath={.items[0].status.podIP}");
    return Shell.shell()
        .with("KUBECONFIG", shared().kube().kubeconfig().toString())
        .with("NO_PROXY", "*")
        .within(PlatterCluster.PATIENCE)
        .execute(
            Stream.concat(
                    Stream.of(
                        virtctl,
                        "image-upload",
                        kind,
                        name,
                        "--as=" + user,
                        "--insecure",
                        "--uploadproxy-url=https://" + address + ":8443",
                        "--storage-class=" + HostPathCsi.AT_ONCE),
                    Stream.of(more))
                .toArray());
  }

  /** Where the node has the volume of a claim. */
  private static String volume(String claim) {
    assertThat(shared().kubectl("get", "pvc", claim, "-o", "jsonpath={.status.phase}"))
        .isEqualTo("Bound");
    var volume = shared().kubectl("get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}");
    var handle = shared().kubectl("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}");
    return "/var/lib/kubelet/plugins/csi-hostpath/data/" + handle;
  }

  private static void isThere(String claim, String file, Path disk) {
    var path = volume(claim) + file;
    assertThat(
            shared()
                .kube()
                .node(1)
                .exec("qemu-img", "compare", "-f", "raw", "-F", "qcow2", path, disk))
        .contains("identical");
  }

  @Test
  void virtctlSendsADiskToAFileSystemAndToADevice() {
    var disk = MarkerGuest.qcow2();
    var files = send("files", "--size=160Mi", "--image-path=" + disk);
    assertThat(files.status()).as(files.output()).isZero();
    assertThat(files.output()).contains("completed successfully");
    isThere("files", "/disk.img", disk);
    var device = send("device", "--size=160Mi", "--volume-mode=block", "--image-path=" + disk);
    assertThat(device.status()).as(device.output()).isZero();
    isThere("device", "", disk);

    var again = send("files", "--size=160Mi", "--image-path=" + disk);
    assertThat(again.output()).contains("already successfully imported");
    // The uploads went with what was there for them; the objects go with the claims.
    assertThat(shared().kubectl("get", "pods,pvc", "-o", "name")).doesNotContain("platter-fill-");
    shared().kubectl("delete", "pvc", "files", "device", "--timeout=60s");
    shared()
        .await(
            "the uploads stay",
            () -> shared().kubectl("get", "diskuploads", "-o", "name"),
            String::isEmpty);
  }

  @Test
  void whoMayOnlyLookSendsNothing() {
    var refused = sendAs(READER, "theirs", "--size=160Mi", "--image-path=" + MarkerGuest.qcow2());
    assertThat(refused.status()).as(refused.output()).isNotZero();
    assertThat(refused.output()).contains("forbidden");
    assertThat(shared().kubectl("get", "pvc", "-o", "name")).doesNotContain("theirs");
    assertThat(mayHaveATokenMade(READER)).startsWith("no");
    // The cluster adds it to the role by itself, some seconds after the installation.
    shared()
        .await(
            "the role edit has no right to send",
            () -> mayHaveATokenMade(SENDER),
            text -> text.startsWith("yes"));
  }

  private static String mayHaveATokenMade(String user) {
    var right = "uploadtokenrequests.upload.cdi.kubevirt.io";
    return shared().kube().tryKubectl("auth", "can-i", "create", right, "--as=" + user).out();
  }

  /** What GNU tar makes of an archive is what is on the volume. */
  @Test
  void virtctlSendsAnArchiveWhoseFilesAreTheVolumes() throws IOException {
    var work = Files.createTempDirectory(shared().work(), "archive");
    Shell.run(
        "sh",
        "-ec",
        """
        cd %s; mkdir -p tree/a/b/shut 'tree/with space' expected
        head -c 3M /dev/urandom > tree/disk.img; echo hello > tree/a/b/shut/file; chmod 0555 tree/a/b/shut
        ln tree/a/b/shut/file tree/hard; ln -s ../../../../etc tree/a/out; echo ü > 'tree/with space/ü'
        tar -czf files.tar.gz -C tree .; tar -xpf files.tar.gz -C expected; chmod 0755 expected
        mkfifo tree/fifo; tar -cJf bad.tar.xz -C tree .
        """
            .formatted(work));
    var files = "--archive-path=" + work.resolve("files.tar.gz");
    var sent = send("archived", "--size=160Mi", files);
    assertThat(sent.status()).as(sent.output()).isZero();
    assertThat(sent.output()).contains("completed successfully");
    var node = shared().kube().node(1);
    var volume = volume("archived");
    var expected = work.resolve("expected");
    node.exec("diff", "-r", "--no-dereference", "-x", "disk.img.json", expected, volume);
    var listed =
        "cd %s && find . -mindepth 1 ! -name disk.img.json -printf '%%P %%M %%n %%T@\\n' | sort";
    assertThat(node.exec("sh", "-c", listed.formatted(volume)))
        .isEqualTo(node.exec("sh", "-c", listed.formatted(expected)));

    var ofVolume = sendVolume("archived-volume", "--size=160Mi", files);
    assertThat(ofVolume.status()).as(ofVolume.output()).isZero();
    node.exec(
        "diff",
        "-r",
        "--no-dereference",
        "-x",
        "disk.img.json",
        expected,
        volume("archived-volume"));
    shared().kubectl("delete", "dv", "archived-volume", "--timeout=60s");

    var bad = send("refused", "--size=160Mi", "--archive-path=" + work.resolve("bad.tar.xz"));
    assertThat(bad.status()).isNotZero();
    assertThat(bad.output()).contains("'fifo' in the archive is a FIFO");
    assertThat(shared().kubectl("get", "pvc", "refused", "-o", "jsonpath={.status.phase}"))
        .isEqualTo("Pending");
    shared().kubectl("delete", "pvc", "archived", "refused", "--timeout=60s");
  }

  @Test
  void virtctlSaysWhyADiskIsNotTaken() {
    var disk = MarkerGuest.qcow2();
    var small = send("small", "--size=16Mi", "--image-path=" + disk);
    assertThat(small.status()).isNotZero();
    assertThat(small.output()).contains("TooLarge");
    shared().kubectl("delete", "pvc", "small", "--timeout=60s");
  }

  private static String volumes(String... more) {
    return shared()
        .kubectl(Stream.concat(Stream.of("get", "dv"), Stream.of(more)).toArray(Object[]::new));
  }

  /** With no more than the disk's own size: the claim has room for its file system beside it. */
  @Test
  void virtctlSendsADiskToADataVolumeAndAllOfItGoesWithThat() throws IOException {
    var disk = MarkerGuest.qcow2();
    var size = "--size=" + Files.size(MarkerGuest.raw());
    var files = sendVolume("volume", size, "--image-path=" + disk);
    assertThat(files.status()).as(files.output()).isZero();
    assertThat(files.output()).contains("completed successfully");
    isThere("volume", "/disk.img", disk);
    shared()
        .kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "dv/volume", "--timeout=60s");
    assertThat(volumes()).containsPattern("volume +Succeeded +100.0%");
    var device = sendVolume("raw", size, "--volume-mode=block", "--image-path=" + disk);
    assertThat(device.status()).as(device.output()).isZero();
    isThere("raw", "", disk);

    var again = sendVolume("volume", size, "--image-path=" + disk);
    assertThat(again.output()).contains("already successfully imported");
    shared().kubectl("delete", "dv", "volume", "raw", "--timeout=60s");
    shared()
        .await(
            "what was theirs stays",
            () -> shared().kubectl("get", "diskuploads,pods,pvc", "-o", "name"),
            String::isEmpty);
  }

  /** As of a manifest that was written for CDI. */
  @Test
  void virtctlSendsADiskToADataVolumeThatIsThere() {
    shared()
        .apply(
            """
            apiVersion: cdi.kubevirt.io/v1beta1
            kind: DataVolume
            metadata:
              name: waits
              annotations:
                cdi.kubevirt.io/storage.usePopulator: "true"
                cdi.kubevirt.io/storage.bind.immediate.requested: ""
            spec:
              source: {upload: {}}
              storage: {storageClassName: %s, resources: {requests: {storage: 160Mi}}}
            """
                .formatted(HostPathCsi.LATE));
    shared()
        .await(
            "there is no claim",
            () -> shared().kubectl("get", "pvc", "-o", "name"),
            claims -> claims.contains("waits"));
    var disk = MarkerGuest.qcow2();
    var sent = sendVolume("waits", "--no-create", "--image-path=" + disk);
    assertThat(sent.status()).as(sent.output()).isZero();
    isThere("waits", "/disk.img", disk);
    assertThat(sendVolume("waits", "--no-create", "--image-path=" + disk).output())
        .contains("already successfully populated");
    shared().kubectl("delete", "dv", "waits", "--timeout=60s");
  }

  @Test
  void dataVolumesAreImportedCopiedAndMadeBlank() throws IOException {
    var disk = MarkerGuest.qcow2();
    var volume =
        """
        apiVersion: cdi.kubevirt.io/v1beta1
        kind: DataVolume
        metadata: {name: %s}
        spec:
          source: {%s}
          storage: {storageClassName: %s, resources: {requests: {storage: %s}}}
        ---
        """;
    try (var web = FileServer.http(shared().kube().outside(), disk.getParent())) {
      var address = web.url(disk.getFileName().toString());
      shared()
          .apply(
              volume.formatted(
                      "fetched", "http: {url: \"" + address + "\"}", HostPathCsi.AT_ONCE, "160Mi")
                  + volume.formatted("empty", "blank: {}", HostPathCsi.AT_ONCE, "160Mi")
                  + volume.formatted("late", "blank: {}", HostPathCsi.LATE, "160Mi"));
      shared()
          .kubectl(
              "wait",
              "--for=jsonpath={.status.phase}=Succeeded",
              "dv/fetched",
              "dv/empty",
              "--timeout=120s");
    }
    isThere("fetched", "/disk.img", disk);
    shared()
        .apply(volume.formatted("copied", "pvc: {name: fetched}", HostPathCsi.AT_ONCE, "160Mi"));
    shared().kubectl("wait", "--for=condition=Ready", "dv/copied", "--timeout=120s");
    isThere("copied", "/disk.img", disk);
    assertThat(volumes("late")).contains("WaitForFirstConsumer");
    shared().kubectl("delete", "dv", "copied", "fetched", "empty", "late", "--timeout=60s");
    shared()
        .await(
            "what was theirs stays",
            () -> shared().kubectl("get", "diskimports,pods,pvc", "-o", "name"),
            String::isEmpty);
  }

  @Test
  void virtctlSaysWhyADataVolumeIsNotFilled() {
    var disk = MarkerGuest.qcow2();
    var late =
        sendVolume(
            "late-volume",
            "--size=160Mi",
            "--storage-class=" + HostPathCsi.LATE,
            "--image-path=" + disk);
    assertThat(late.status()).isNotZero();
    assertThat(late.output()).contains("WaitForFirstConsumer");
    var theirs = upload(READER, "dv", "their-volume", "--size=160Mi", "--image-path=" + disk);
    assertThat(theirs.status()).isNotZero();
    assertThat(theirs.output()).contains("forbidden");
    shared().kubectl("delete", "dv", "late-volume", "--timeout=60s");
  }
}
