package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.CephCluster;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Pods as VMs, told by the small guest, which has neither cloud-init nor udev. It knows disks by
 * serial and by where they are; how Linux names them differs from boot to boot.
 */
class PodGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private GuestNode guest;
  private String image;

  @BeforeEach
  void open() throws IOException {
    guest = new GuestNode(work, LIBVIRT.uri());
    image = guest.push("marker", MarkerGuest.qcow2());
  }

  @AfterEach
  void close() throws IOException {
    guest.close();
  }

  /**
   * @param script what the guest runs, each line of it on its own
   */
  private String pod(String annotations, List<String> script, String mounts, String volumes) {
    var commands =
        script.stream().map(line -> "    #marker: " + line + "\n").collect(Collectors.joining());
    return """
        apiVersion: v1
        kind: Pod
        metadata:
          name: pod
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
        %s    VirtletCloudInitUserDataScript: |
              #!/bin/sh
        %s      @virtlet-mount-script@
        spec:
          containers:
          - name: vm
            image: "virtlet.cloud/%s"
            resources: {limits: {memory: 192Mi}}
            volumeMounts: [%s]
          volumes: [%s]
        """
        .formatted(annotations.indent(4), commands.indent(2), image, mounts, volumes);
  }

  private static String flex(String name, String options) {
    return "{name: %s, flexVolume: {driver: virtlet/flexvolume_driver, options: {%s}}}"
        .formatted(name, options);
  }

  /** What cloud-init would do with a script. */
  private static final String RUN_SCRIPT = "mount -o ro /dev/sr0 /mnt; sh /mnt/user-data";

  private List<String> lines(VmStatus vm) {
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    return console.lines();
  }

  @Test
  void twoVolumesAreEmptyFileSystemsThatLastAsLongAsThePod() throws Exception {
    var text =
        pod(
            "",
            List.of(
                RUN_SCRIPT,
                "ls -A /a /b; df -k /a /b | tail -n 2",
                "grep -c . /a/kept && echo again; echo kept > /a/kept; sync"),
            "{name: vol1, mountPath: /a}, {name: vol2, mountPath: /b, readOnly: true}",
            flex("vol1", "type: qcow2, capacity: 64MiB") + "," + flex("vol2", "type: qcow2"));
    var vm = guest.run(text);
    var lines = lines(vm);
    assertThat(lines)
        .anyMatch(
            line -> line.matches("@@DISK sd. serial=vol1 size=67108864 ro=0 .*hctl=0:0:1:0 .*"));
    assertThat(lines)
        .anyMatch(
            line -> line.matches("@@DISK sd. serial=vol2 size=1024000000 ro=0 .*hctl=0:0:2:0 .*"));
    assertThat(lines).contains("@@OUT lost+found");
    assertThat(lines).anyMatch(line -> line.startsWith("@@RC 0 " + RUN_SCRIPT));
    assertThat(lines).noneMatch(line -> line.equals("@@OUT again"));
    var pool = guest.layout().pool("volumes");
    var first = pool.resolve(vm.plan().uuid() + "-vol1");
    assertThat(Shell.run("qemu-img", "info", "-U", "--output=json", first))
        .contains("\"format\": \"qcow2\"");
    assertThat(Shell.run("virsh", "-c", LIBVIRT.uri(), "domblklist", "default.pod"))
        .containsPattern("sdb +" + first);
    guest.node().stop(vm.key(), java.time.Duration.ofMinutes(1));
    guest.console(guest.run(text)).await("^@@OUT again", GuestNode.BOOT);
    guest.node().remove(vm.key(), true);
    try (var left = Files.list(pool)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void theSecondPartitionOfADeviceIsMounted() throws Exception {
    var disk = work.resolve("device.raw");
    Shell.run("truncate", "-s", "64M", disk);
    Shell.run("sh", "-c", "printf 'size=16M\\nsize=+\\n' | sfdisk -q " + disk);
    Shell.run(
        "mke2fs", "-q", "-F", "-t", "ext4", "-E", "offset=17825792", "-L", "second", disk, "45M");
    try (var device = LoopDevice.attach(disk)) {
      var vm =
          guest.run(
              pod(
                  "",
                  List.of(RUN_SCRIPT, "grep /data2 /proc/mounts; echo written > /data2/file; sync"),
                  "{name: raw, mountPath: /data2}",
                  flex("raw", "type: raw, path: " + device.path() + ", part: '2'")));
      assertThat(lines(vm)).anyMatch(line -> line.matches("@@OUT /dev/sd.2 /data2 ext4 rw.*"));
      guest.node().remove(vm.key(), true);
    }
    assertThat(Shell.run("debugfs", "-R", "cat /file", disk + "?offset=17825792"))
        .contains("written");
  }

  @ParameterizedTest
  @CsvSource({"scsi,sd,24", "virtio,vd,18"})
  void aVmHasAsManyDisksAsItsBusTakes(String driver, String prefix, int volumes) throws Exception {
    var vm =
        guest.run(
            pod(
                "VirtletDiskDriver: " + driver,
                List.of(),
                "",
                IntStream.range(0, volumes)
                    .mapToObj(i -> flex("v%02d".formatted(i), "type: qcow2, capacity: 16MiB"))
                    .collect(Collectors.joining(","))));
    var serials =
        lines(vm).stream()
            .filter(line -> line.startsWith("@@DISK "))
            .map(line -> line.replaceFirst(".* serial=(\\S*) .*", "$1"))
            .toList();
    var expected =
        IntStream.range(0, volumes).mapToObj("v%02d"::formatted).collect(Collectors.toList());
    expected.add("root");
    expected.add(driver.equals("scsi") ? "" : "cloud-init"); // Linux shows no serial of a CD-ROM
    assertThat(serials).containsExactlyInAnyOrderElementsOf(expected);
    assertThat(lines(vm).stream().filter(line -> line.startsWith("@@DISK " + prefix)).count())
        .isEqualTo(driver.equals("scsi") ? volumes + 1 : volumes + 2);
  }

  @Test
  void theGuestSeesTheUuidOfThePod() throws Exception {
    var uuid = "53008994-44c0-4017-ad44-9c49758083da";
    var vm = guest.run(pod("VirtletSystemUUID: " + uuid, List.of(), "", ""));
    assertThat(lines(vm)).anyMatch(line -> line.contains("@@DMI uuid=" + uuid));
    guest.node().remove(vm.key(), true);
    var derived = guest.run(pod("", List.of(), "", ""));
    assertThat(derived.plan().uuid().version()).isEqualTo(5);
    assertThat(lines(derived))
        .anyMatch(line -> line.contains("@@DMI uuid=" + derived.plan().uuid()));
  }

  @Test
  void filesAreWrittenByAScriptToo() throws Exception {
    var config =
        "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {text: \"it's 'quoted' $(x)\\n\"}\n";
    var vm =
        guest.run(
            pod(
                    "",
                    List.of(RUN_SCRIPT, "stat -c %a '/files/a b/text'; cat '/files/a b/text'"),
                    "{name: files, mountPath: '/files/a b'}",
                    "{name: files, configMap: {name: c, defaultMode: 0640}}")
                + config);
    assertThat(lines(vm)).contains("@@OUT 640", "@@OUT it's 'quoted' $(x)");
  }

  /** Inline, with the words of the document, and through a volume that a claim finds by itself. */
  @Test
  void anImageOfCephIsADiskInlineAndThroughAClaim() throws Exception {
    var ceph = CephCluster.shared();
    var content = work.resolve("content.raw");
    Shell.run("sh", "-c", "head -c 2097152 /dev/urandom > " + content);
    ceph.importRaw(content, "pod-inline");
    ceph.importRaw(content, "pod-claimed");
    var sum = Shell.run("sh", "-c", "head -c 1048576 " + content + " | sha256sum").split(" ")[0];
    var options =
        "{%s: ceph, %s: '%s', %s: %s, %s: %s, %s: %s, %s: %s}".replace("%s: %s", "%s: '%s'");
    var inline =
        options.formatted(
            "Type",
            "Monitor",
            ceph.monitor(),
            "User",
            ceph.user(),
            "Secret",
            ceph.key(),
            "Volume",
            "pod-inline",
            "Pool",
            ceph.pool());
    var claimed =
        options.formatted(
            "type",
            "monitor",
            ceph.monitor(),
            "user",
            ceph.user(),
            "secret",
            ceph.key(),
            "volume",
            "pod-claimed",
            "pool",
            ceph.pool());
    var vm =
        guest.run(
            pod(
                    "",
                    List.of("printf hello | dd of=$(disk inline) conv=notrunc; sync"),
                    "",
                    "{name: inline, flexVolume: {driver: kubernetes.io/flexvolume_driver, options: "
                        + inline
                        + "}}, {name: claimed, persistentVolumeClaim: {claimName: rbd-claim}}")
                + """
                ---
                apiVersion: v1
                kind: PersistentVolume
                metadata: {name: pv-rbd}
                spec:
                  capacity: {storage: 10M}
                  accessModes: [ReadWriteOnce]
                  flexVolume: {driver: virtlet/flexvolume_driver, options: %s}
                ---
                apiVersion: v1
                kind: PersistentVolumeClaim
                metadata: {name: rbd-claim}
                spec:
                  accessModes: [ReadWriteOnce]
                  resources: {requests: {storage: 10M}}
                """
                    .formatted(claimed));
    assertThat(lines(vm))
        .anyMatch(line -> line.matches("@@DISK sd. serial=claimed .* hctl=0:0:1:0 sha1M=" + sum))
        .anyMatch(line -> line.matches("@@DISK sd. serial=inline .* hctl=0:0:2:0 sha1M=" + sum));
    var domain =
        Shell.run("virsh", "-c", LIBVIRT.uri(), "dumpxml", "--security-info", "default.pod");
    assertThat(domain).doesNotContain(ceph.key());
    assertThat(Files.readString(guest.layout().plan(guest.layout().vm(vm.key()))))
        .doesNotContain(ceph.key());
    guest.node().remove(vm.key(), true);
    var after = work.resolve("after.raw");
    ceph.export("pod-inline", after);
    assertThat(Shell.run("head", "-c", "5", after)).isEqualTo("hello");
  }
}
