package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.HostPathCsi;
import dev.platter.lab.MarkerGuest;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** VMs on volumes that a CSI driver makes which Platter knows nothing of. */
class VolumeTest {
  private static final String READ = "dd if=$(disk root) bs=1M skip=100 count=1 | head -c 9";
  private static final String WRITE =
      "echo persisted | dd of=$(disk root) bs=1M seek=100 conv=notrunc; sync";
  private static HostPathCsi driver;

  @BeforeAll
  static void start() {
    driver = HostPathCsi.start(shared().kube(), shared().kube().node(1));
  }

  @AfterAll
  static void end() {
    driver.close();
  }

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "statefulsets,vm,pods", "--all", "--timeout=90s");
    shared().kubectl("delete", "vmid,vmidset,pvc", "--all", "--timeout=60s");
    shared()
        .await(
            "images, claims, snapshots or volumes are left",
            () ->
                shared()
                    .kubectl(
                        "get",
                        "vmimage,pods,pvc,volumesnapshots,volumesnapshotcontents,pv",
                        "-o",
                        "name"),
            String::isEmpty);
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
    assertThat(shared().kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
        .doesNotContain("disk-");
  }

  @Test
  void aVmWritesToClaimsOfBothKindsThatADriverMakesOnDemand() {
    shared()
        .apply(
            claim("files", "Filesystem", HostPathCsi.AT_ONCE, "64Mi")
                + claim("device", "Block", HostPathCsi.LATE, "64Mi")
                + """
            apiVersion: platter.dev/v1alpha1
            kind: VirtualMachine
            metadata: {name: writer}
            spec:
              restartPolicy: Never
              domain:
                memory: {guest: 96Mi}
                devices:
                  disks:
                  - type: ContainerRegistryDisk:v1alpha
                    source: {name: "%s"}
                    target: {device: sda}
                  - {type: PersistentVolumeClaim, source: {name: files}, target: {device: sdb}}
                  - {type: PersistentVolumeClaim, source: {name: device}, target: {device: sdc}}
              cloudInit:
                userData: |
                  #!/bin/sh
                  #marker: echo on-files | dd of=/dev/sdb conv=notrunc; sync; head -c 8 /dev/sdb
                  #marker: echo on-device | dd of=/dev/sdc conv=notrunc; sync; head -c 9 /dev/sdc
            """
                    .formatted(shared().marker()));
    assertThat(shared().awaitLog("writer", "^@@READY"))
        .containsPattern("@@DISK sdb .*size=62914560") // disk.img leaves room for its file system
        .containsPattern("@@DISK sdc .*size=67108864")
        .contains("@@OUT on-files")
        .contains("@@OUT on-device");
    shared().kubectl("delete", "vm", "writer", "--timeout=60s");
    // Without us: another pod reads what the guest wrote.
    shared()
        .apply(
            """
        apiVersion: v1
        kind: Pod
        metadata: {name: reader}
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: lab.local/busybox:1
            command: [sh, -c, "head -c 8 /files/disk.img; echo; head -c 9 /dev/volume; echo"]
            volumeMounts: [{name: files, mountPath: /files}]
            volumeDevices: [{name: device, devicePath: /dev/volume}]
          volumes:
          - {name: files, persistentVolumeClaim: {claimName: files}}
          - {name: device, persistentVolumeClaim: {claimName: device}}
        """);
    assertThat(shared().awaitLog("reader", "^on-device")).isEqualTo("on-files\non-device\n");
  }

  /** Boots from a block device; the same image is in a file system beside it. */
  private static String persistent(String... commands) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: lasting}
    spec:
      restartPolicy: Never
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - type: ContainerRegistryDisk:v1alpha
            name: root
            source: {name: "%1$s"}
            persistent: device
            target: {device: sda}
          - {name: files, source: {image: "%1$s"}, persistent: files, target: {device: sdb}}
      cloudInit:
        userData: |
          #!/bin/sh
          #marker: %2$s
    """
        .formatted(shared().marker(), String.join("\n      #marker: ", commands));
  }

  @Test
  void anImageIsOnItsClaimsFromTheFirstStartOnAndOtherBytesAreLeftAlone() {
    shared()
        .apply(
            claim("device", "Block", HostPathCsi.AT_ONCE, "128Mi")
                + claim("files", "Filesystem", HostPathCsi.LATE, "160Mi"));
    var read = List.of(READ, READ.replace("root", "files"));
    shared()
        .apply(
            persistent(
                read.getFirst() + " | grep persisted", WRITE, WRITE.replace("root", "files")));
    assertThat(shared().awaitLog("lasting", "^@@READY"))
        .containsPattern("@@DISK sda serial=root size=134217728")
        .containsPattern("@@DISK sdb serial=files size=159383552")
        .doesNotContain("@@OUT persisted");
    shared()
        .await(
            "the disks are not told",
            () ->
                shared()
                    .kubectl("get", "vm", "lasting", "-o", "jsonpath={.status.disks[*].digest}"),
            text -> text.matches("(sha256:\\p{XDigit}{64}) \\1"));
    shared().kubectl("delete", "vm", "lasting", "--timeout=60s");

    var record = record();
    assertThat(record).contains("\"image\":\"" + shared().marker() + "\"", "\"complete\":true");
    annotate(
        record
            .replace(shared().marker(), "a.example/other:1")
            .replaceAll("sha256:.", "sha256:" + "0"));
    shared().apply(persistent(READ));
    shared()
        .await(
            "the VM starts with another image's disk",
            () -> shared().kubectl("get", "vm", "lasting", "-o", "jsonpath={.status.conditions}"),
            text ->
                text.contains("\"Refused\"") && text.contains("holds the image a.example/other:1"));
    shared().kubectl("delete", "vm", "lasting", "--timeout=60s");
    annotate(record);

    shared().apply(persistent(read.toArray(String[]::new)));
    assertThat(shared().awaitLog("lasting", "^@@READY"))
        .containsPattern("(?s)@@OUT persisted.*@@OUT persisted");
    assertThat(record()).isEqualTo(record);
  }

  private static String record() {
    return shared()
        .kubectl(
            "get",
            "pvc",
            "device",
            "-o",
            "jsonpath={.metadata.annotations.platter\\.dev/fill-record}");
  }

  private static void annotate(String record) {
    shared()
        .kubectl("annotate", "--overwrite", "pvc", "device", "platter.dev/fill-record=" + record);
  }

  /** The web server, the registry and a client of ours; the oracle is qemu-img on the node. */
  @Test
  void claimsAreFilledFromTheWebFromARegistryAndByAnUpload() throws Exception {
    var disk = MarkerGuest.qcow2();
    try (var web = FileServer.http(shared().kube().outside(), disk.getParent())) {
      shared()
          .apply(
              source("web", "{http: {url: \"" + web.url(disk.getFileName().toString()) + "\"}}")
                  + source("registry", "{registry: {image: \"" + shared().marker() + "\"}}")
                  + filled("files", "Filesystem", HostPathCsi.AT_ONCE, "web")
                  + filled("device", "Block", HostPathCsi.LATE, "registry")
                  + """
              apiVersion: v1
              kind: Pod
              metadata: {name: reader}
              spec:
                restartPolicy: Never
                containers:
                - name: main
                  image: lab.local/busybox:1
                  command: [sh, -c, "ls /files/disk.img && test -b /dev/volume && echo there"]
                  volumeMounts: [{name: files, mountPath: /files}]
                  volumeDevices: [{name: device, devicePath: /dev/volume}]
                volumes:
                - {name: files, persistentVolumeClaim: {claimName: files}}
                - {name: device, persistentVolumeClaim: {claimName: device}}
              """);
      var said =
          shared()
              .plugin(
                  "upload", disk, "sent", "--size=160Mi", "--storage-class=" + HostPathCsi.LATE);
      assertThat(said).contains("sent is bound");
      shared().awaitLog("reader", "^there");
    }
    for (var claim : List.of("files", "device", "sent")) {
      var volume = shared().kubectl("get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}");
      var handle = shared().kubectl("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}");
      var path = "/var/lib/kubelet/plugins/csi-hostpath/data/" + handle;
      var raw = claim.equals("device") ? path : path + "/disk.img";
      var same =
          shared()
              .kube()
              .node(1)
              .exec("qemu-img", "compare", "-f", "raw", "-F", "qcow2", raw, disk);
      assertThat(same).as(claim).contains("identical");
    }
    shared()
        .await(
            "the imports do not say that they are done",
            () -> shared().kubectl("get", "diskimports,diskuploads"),
            text ->
                text.matches(
                    "(?s).*registry +device +100% +True +Filled.*web +files +100% +True"
                        + " +Filled.*sent +sent +100% +True +Filled.*"));
    assertThat(shared().kubectl("get", "pods,pvc", "-o", "name")).doesNotContain("platter-fill-");
    shared().kubectl("delete", "diskimports,diskuploads", "--all");
  }

  private static String source(String name, String source) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: DiskImport
    metadata: {name: %s}
    spec: {source: %s}
    ---
    """
        .formatted(name, source);
  }

  private static String filled(String name, String mode, String storageClass, String source) {
    return claim(name, mode, storageClass, "160Mi")
        .replace(
            "\n---",
            "\n  dataSourceRef: {apiGroup: platter.dev, kind: DiskImport, name: %s}\n---"
                .formatted(source));
  }

  private static String claim(String name, String mode, String storageClass, String size) {
    return """
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: %s}
    spec:
      accessModes: [ReadWriteOnce]
      volumeMode: %s
      storageClassName: %s
      resources: {requests: {storage: %s}}
    ---
    """
        .formatted(name, mode, storageClass, size);
  }

  private static String image() {
    return shared().markerByDigest();
  }

  private static String pets(int replicas, String... commands) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentitySet
    metadata: {name: pets}
    spec: {image: "virtlet.cloud/%1$s", type: PersistentVolume, storageClassName: %2$s, size: 256Mi}
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: pet}
    spec:
      replicas: %3$d
      podManagementPolicy: Parallel
      selector: {matchLabels: {app: pet}}
      template:
        metadata:
          labels: {app: pet}
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
            VirtletVMIdentitySet: pets
            VirtletCloudInitUserDataScript: |
              #!/bin/sh
              #marker: %4$s
        spec:
          terminationGracePeriodSeconds: 10
          containers:
          - {name: vm, image: "virtlet.cloud/%1$s", resources: {limits: {memory: 96Mi}}}
    """
        .formatted(
            image(), HostPathCsi.AT_ONCE, replicas, String.join("\n          #marker: ", commands));
  }

  @Test
  void eachPodBootsFromAClaimOfItsOwnThatWasMadeFromOneImport() {
    var before = imports();
    shared().apply(pets(2, READ + " | grep persisted", WRITE));
    for (var pod : new String[] {"pet-0", "pet-1"}) {
      assertThat(shared().awaitLog(pod, "^@@READY"))
          .containsPattern("@@DISK sda serial=root size=268435456")
          .doesNotContain("@@OUT persisted");
    }
    assertThat(shared().kubectl("get", "vmid", "-o", "wide"))
        .containsPattern("pet-0 +true +PersistentVolume +vmid-pet-0 +pets")
        .containsPattern("pet-1 +true +PersistentVolume +vmid-pet-1 +pets");
    assertThat(shared().kubectl("get", "vmimage,volumesnapshots", "-o", "name").lines()).hasSize(2);
    // Two claims of identities; the one that the image was written to is not needed any more.
    assertThat(shared().kubectl("get", "pvc", "-o", "name").lines())
        .containsExactlyInAnyOrder(
            "persistentvolumeclaim/vmid-pet-0", "persistentvolumeclaim/vmid-pet-1");
    var after = imports();
    after.removeAll(before);
    assertThat(after).as("pods that wrote the image").hasSize(1);

    shared().apply(pets(1, READ));
    shared().kubectl("delete", "pod", "pet-0", "--timeout=60s");
    assertThat(shared().awaitLog("pet-0", "^@@READY")).contains("@@OUT persisted");

    // Deleting it waits for its VM.
    shared().kubectl("delete", "vmid", "pet-0", "--wait=false");
    shared()
        .await(
            "the claim stays",
            () -> shared().kubectl("get", "pvc", "vmid-pet-0"),
            text -> text.contains("Terminating"));
    shared().kubectl("delete", "statefulset", "pet", "--timeout=60s");
    shared().kubectl("wait", "--for=delete", "vmid/pet-0", "--timeout=60s");
  }

  /** The UIDs of the pods that ever filled a claim, as kubelet and scheduler tell. */
  private static Set<String> imports() {
    var events =
        shared()
            .kubectl(
                "get",
                "events",
                "-o",
                "jsonpath={range .items[*]}{.involvedObject.name} {.involvedObject.uid}{'\\n'}{end}");
    return events
        .lines()
        .filter(line -> line.contains("-fill "))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .collect(Collectors.toCollection(HashSet::new));
  }

  @Test
  void whatKeepsAnIdentityFromItsVolumeIsSaid() {
    shared().apply(identity("no-class", "nowhere", "256Mi") + identity("small", "hostpath", "1Mi"));
    for (var name : new String[] {"no-class", "small"}) {
      shared().kubectl("wait", "--for=condition=Ready=false", "vmid/" + name, "--timeout=60s");
    }
    assertThat(message("no-class")).contains("There is no StorageClass nowhere");
    shared()
        .await(
            "the size is not checked",
            () -> message("small"),
            text -> text.contains("its image needs"));
  }

  private static String message(String identity) {
    return shared()
        .kubectl("get", "vmid", identity, "-o", "jsonpath={.status.conditions[0].message}");
  }

  private static String identity(String name, String storageClass, String size) {
    return """
    apiVersion: virtlet.k8s/v1
    kind: VirtletVMIdentity
    metadata: {name: %s}
    spec: {image: "%s", type: PersistentVolume, storageClassName: %s, size: %s}
    ---
    """
        .formatted(name, image(), storageClass, size);
  }
}
