package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.lab.VolumeMaker;
import dev.platter.lab.VolumeStorage;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** VMs and annotated pods on a real cluster, as kubectl and their guests see them. */
class ClusterTest {
  private static final Path EXAMPLES = Path.of(System.getProperty("repo.root"), "examples");

  /** The kernel counts in KiB. */
  private static final int MOST_LAUNCHER = 2 << 10;

  /** Whatever a test made, both nodes have nothing of it afterwards. */
  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "vm,vmgroup,pods", "--all", "--timeout=90s");
    shared().kubectl("delete", "pvc,pv,configmaps,secrets", "-l", "test=yes", "--timeout=60s");
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
    assertThat(shared().kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
        .doesNotContain("disk-");
  }

  private static String vm(String name, String more) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: %s}
    spec:
    %s
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - type: ContainerRegistryDisk:v1alpha
            source: {name: "%s"}
            target: {device: sda}
    """
        .formatted(name, more.indent(2).stripTrailing(), shared().marker());
  }

  @Test
  void aVmIsAppliedShownAndDeleted() {
    shared().apply(vm("first", ""));
    assertThat(shared().awaitLog("first", "^@@READY")).contains("@@DISK sda serial=sda");
    shared().kubectl("wait", "--for=condition=Ready", "vm/first", "pod/first", "--timeout=30s");
    assertThat(shared().kubectl("get", "vm")).containsPattern("first +Running +True +node[12]");
    assertThat(shared().kubectl("describe", "vm", "first")).contains("The guest runs.");
    var node = shared().kubectl("get", "vm", "first", "-o", "jsonpath={.status.nodeName}");
    var uid = shared().kubectl("get", "pod", "first", "-o", "jsonpath={.metadata.uid}");
    var on = shared().kube().node(Integer.parseInt(node.substring("node".length())));
    assertThat(on.exec("cat", "/proc/" + shared().qemu(on, "default", "first") + "/cgroup"))
        .containsPattern("cpu:.*/pod" + uid + "/");
    var process = shared().processes(on, "default", "first", "-x launch");
    var launcher = on.exec("awk", "/VmRSS/{print $2}", "/proc/" + process + "/status");
    assertThat(Integer.parseInt(launcher.strip())).isLessThan(MOST_LAUNCHER);
  }

  @Test
  void whatItsDisksAreStandsInTheStatusOfAVm() {
    shared().apply(vm("told", ""));
    shared()
        .await(
            "the image is not complete",
            () ->
                shared().kubectl("get", "vm", "told", "-o", "jsonpath={.status.disks[0].percent}"),
            "100"::equals);
    var info = Shell.run("qemu-img", "info", "--output=json", MarkerGuest.qcow2());
    var size = Pattern.compile("\"virtual-size\": (\\d+)").matcher(info);
    assertThat(size.find()).isTrue();
    var digest = shared().markerDigest();
    assertThat(shared().kubectl("describe", "vm", "told"))
        .containsPattern("Digest: +" + digest)
        .containsPattern("Size: +" + size.group(1))
        .containsPattern("Fetched: +" + size.group(1))
        .containsPattern("Total: +" + size.group(1))
        .containsPattern("Chain:\\s+/var/lib/platter/pools/\\S+\\s+/var/lib/platter/\\S+");
    assertThat(shared().kubectl("get", "vm", "told", "-o", "wide"))
        .containsPattern("told .* sda +image " + shared().marker() + " +100");
  }

  @ParameterizedTest
  @CsvSource({
    "pod-volumes.yaml, test-vm-pod, @@DISK sdc serial=vol2",
    "pod-disk-driver.yaml, cirros-vm, @@DISK vda serial=root",
  })
  void podsOfTheExamplesRunAsTheyAre(String example, String pod, String line) throws IOException {
    shared().apply(Files.readString(EXAMPLES.resolve(example)));
    assertThat(shared().awaitLog(pod, "^@@READY")).contains(line);
    shared().kubectl("wait", "--for=condition=Ready", "pod/" + pod, "--timeout=30s");
  }

  @Test
  void whatAPodMountsIsInItsGuest() {
    shared()
        .apply(
            """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, labels: {test: "yes"}}
        data: {colour: "green-41"}
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: login, labels: {test: "yes"}}
        stringData: {password: "tulip-97"}
        ---
        apiVersion: v1
        kind: Pod
        metadata:
          name: files
          annotations: {kubernetes.io/target-runtime: virtlet.cloud}
        spec:
          containers:
          - name: vm
            image: virtlet.cloud/%s
            resources: {limits: {memory: 96Mi}}
            volumeMounts:
            - {name: settings, mountPath: /etc/settings}
            - {name: login, mountPath: /etc/login}
          volumes:
          - {name: settings, configMap: {name: settings}}
          - {name: login, secret: {secretName: login, defaultMode: 0400}}
        """
                .formatted(shared().marker()));
    // Base64, as the script in the guest's seed has it.
    assertThat(shared().awaitLog("files", "^@@READY"))
        .contains("/etc/settings/colour", "Z3JlZW4tNDE=", "/etc/login/password", "dHVsaXAtOTc=")
        .containsPattern(
            "/etc/login/password\",\\s+@@CIDATA user-data: +\"permissions\" : \"0400\"");
  }

  @Test
  void aClaimIsADiskOfTheVm() throws IOException {
    var node = claim();
    shared()
        .apply(
            vm("claimed", "")
                + """
                  - type: PersistentVolumeClaim
                    source: {name: data}
                    target: {device: sdb}
            """);
    assertThat(shared().awaitLog("claimed", "^@@READY")).contains("@@DISK sdb serial=sdb");
    assertThat(node.path("/var/lib/platter/test-volume/disk.img")).exists();

    // With its next pod the claim is elsewhere.
    var before = shared().kubectl("get", "pod", "claimed", "-o", "jsonpath={.metadata.uid}");
    shared().kubectl("delete", "pod", "claimed", "--timeout=60s");
    shared()
        .await(
            "no other pod",
            () ->
                shared()
                    .kube()
                    .tryKubectl("get", "pod", "claimed", "-o", "jsonpath={.metadata.uid}")
                    .out(),
            uid -> !uid.isEmpty() && !uid.equals(before));
    assertThat(shared().awaitLog("claimed", "^@@READY")).contains("@@DISK sdb serial=sdb");
  }

  /** A claim on a directory of node1. */
  private static KubeNode claim() throws IOException {
    var node = shared().kube().node(1);
    node.exec("rm", "-rf", "/var/lib/platter/test-volume");
    Files.createDirectories(node.path("/var/lib/platter/test-volume"));
    shared()
        .apply(
            """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: local-1, labels: {test: "yes"}}
        spec:
          capacity: {storage: 64Mi}
          accessModes: [ReadWriteOnce]
          storageClassName: by-hand
          local: {path: /var/lib/platter/test-volume}
          nodeAffinity:
            required:
              nodeSelectorTerms:
              - matchExpressions:
                - {key: kubernetes.io/hostname, operator: In, values: [node1]}
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: data, labels: {test: "yes"}}
        spec:
          storageClassName: by-hand
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 64Mi}}
        """);
    return node;
  }

  /** In a namespace where pods may do nothing: it is the user's own, so it must pass as it is. */
  @Test
  void aContainerMakesADiskOfTheVmAndDeletesItWithTheVm() throws IOException {
    var node = claim();
    var archive = VolumeMaker.archive(shared().work(), "lab.local/volume-maker:1");
    shared().kube().nodes().forEach(each -> each.loadImage(archive));
    var restricted = "pod-security.kubernetes.io/enforce";
    shared().kubectl("label", "namespace", "default", restricted + "=restricted");
    try (var storage = new VolumeStorage(InetAddress.getByName(shared().kube().outside()))) {
      shared()
          .apply(
              vm("dynamic", "")
                  + """
                    - name: data
                      source:
                        container:
                          image: lab.local/volume-maker:1
                          env:
                          - {name: STORAGE, value: "%s:%d"}
                          - {name: BEHAVIOUR, value: "answers pvc: {claimname: data}"}
                          readinessProbe: {httpGet: {path: /ready}}
                          securityContext:
                            runAsNonRoot: true
                            allowPrivilegeEscalation: false
                            capabilities: {drop: [ALL]}
              """
                      .formatted(shared().kube().outside(), storage.port()));
      assertThat(shared().awaitLog("dynamic", "^@@READY")).contains("serial=data");
      assertThat(node.path("/var/lib/platter/test-volume/disk.img")).exists();
      assertThat(storage.made).hasSize(1);
      assertThat(shared().kubectl("get", "pods", "-l", "platter.dev/source-of=dynamic"))
          .containsPattern("dynamic-data-\\S+ +1/1 +Running");

      // A new pod makes no other volume.
      shared().kubectl("delete", "pods", "-l", "platter.dev/source-of=dynamic", "--grace-period=1");
      shared()
          .await(
              "the container does not come back",
              () -> shared().kubectl("get", "pods", "-l", "platter.dev/source-of=dynamic"),
              text -> text.contains("1/1"));
      assertThat(storage.deleted).isEmpty();

      shared().kubectl("delete", "vm", "dynamic", "--timeout=90s");
      assertThat(storage.deleted).hasSize(1).isEqualTo(storage.made);
      shared()
          .await(
              "something is left",
              () ->
                  shared()
                      .kubectl(
                          "get",
                          "pods,secrets",
                          "-l",
                          "platter.dev/source-of=dynamic",
                          "-o",
                          "name"),
              String::isEmpty);
    } finally {
      shared().kubectl("label", "namespace", "default", restricted + "-");
    }
  }

  @Test
  void aVmGoesOnWhileWhatIsAroundItDies() {
    var vm = new TickingVm(shared(), "steady");
    var node = vm.node();
    shared().killDaemon(node);
    vm.goesOn();
    node.exec("sh", "-c", "kill -9 $(pgrep libvirtd)");
    vm.goesOn();
    node.killKubelet();
    node.startKubelet();
    vm.goesOn();
    shared().kube().killApiServer();
    shared().killDaemon(node);
    // It must not end: the kubelet would start it again later each time.
    shared()
        .await(
            "the daemon does not wait",
            () ->
                node.exec("sh", "-c", "cat /var/log/pods/platter-system_platter-node-*/node/*.log"),
            log -> log.contains("waits for the API server"));
    shared().kube().startApiServer();
    vm.goesOn();
    shared().awaitPlatter();
    vm.hasMissedNothing();
  }

  /** The limit that Platter gives a pod is never reached, so this one is made smaller. */
  @Test
  void aVmWhosePodReachesItsMemoryLimitEndsAsOutOfMemory() {
    shared()
        .apply(
            vm(
                    "hungry",
                    """
                restartPolicy: Never
                cloudInit:
                  userData: |
                    #cloud-config
                    #marker: sh -c 'sleep 5; for n in $(seq 220); do head -c 1000000 /dev/zero >/tmp/$n; done' &
                """)
                .replace("96Mi", "256Mi"));
    shared().awaitLog("hungry", "^@@READY");
    var name = shared().kubectl("get", "vm", "hungry", "-o", "jsonpath={.status.nodeName}");
    var node = shared().kube().node(Integer.parseInt(name.substring("node".length())));
    var qemu = shared().qemu(node, "default", "hungry");
    node.exec(
        "sh",
        "-c",
        "group=$(sed -n 's/^[0-9]*:memory://p' /proc/"
            + qemu
            + "/cgroup);"
            + " echo 240M >/sys/fs/cgroup/memory$(dirname $group)/memory.limit_in_bytes");
    shared()
        .await(
            "not out of memory",
            () -> shared().kubectl("get", "vm", "hungry", "-o", "jsonpath={.status}"),
            status -> status.contains("\"OutOfMemory\"") && status.contains("\"Failed\""));
    assertThat(
            shared()
                .kubectl(
                    "get",
                    "pod",
                    "hungry",
                    "-o",
                    "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"))
        .isEqualTo("137");
    shared()
        .await(
            "QEMU is left",
            () -> shared().processes(node, "default", "hungry", "qemu-system"),
            String::isEmpty);
  }

  @Test
  void aGroupIsScaled() {
    shared()
        .apply(
            """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachineGroup
        metadata: {name: web}
        spec:
          replicas: 1
          template:
            spec:
              domain:
                memory: {guest: 96Mi}
                devices:
                  disks:
                  - type: ContainerRegistryDisk:v1alpha
                    source: {name: "%s"}
                    target: {device: sda}
        """
                .formatted(shared().marker()));
    shared().kubectl("scale", "vmgroup/web", "--replicas=2");
    shared()
        .await(
            "not two",
            () ->
                shared().kubectl("get", "vmgroup", "web", "-o", "jsonpath={.status.readyReplicas}"),
            "2"::equals);
    shared().kubectl("scale", "vmgroup/web", "--replicas=1");
    shared()
        .await(
            "not one",
            () -> shared().kubectl("get", "vm", "-o", "name"),
            n -> n.lines().count() == 1);
    shared().kubectl("delete", "vmgroup", "web", "--timeout=60s");
    shared().await("not gone", () -> shared().kubectl("get", "vm", "-o", "name"), String::isEmpty);
  }
}
