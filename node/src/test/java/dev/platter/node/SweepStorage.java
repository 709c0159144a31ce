package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The servers, volumes and devices whose disks a swept VM has, all of the same content. */
final class SweepStorage implements AutoCloseable {
  private static final String PASSWORD = "sweep-Chap-60217";

  private final Path work;
  private final Path content;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final IscsiTarget iscsi;

  SweepStorage(Path work) throws IOException {
    this.work = work;
    this.content = work.resolve("content");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", content, "4M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 1M 2M", content);
    Files.createDirectory(volume());
    this.iscsi =
        IscsiTarget.start(
            Files.createDirectory(work.resolve("iscsi")), new IscsiTarget.Chap("vm", PASSWORD));
    open.push(iscsi);
  }

  /** Called once, since it starts what it names. */
  String manifest() throws IOException {
    return """
    kind: VM
    metadata: {name: sweep}
    spec:
      domain:
        memory: {guest: 32Mi}
        devices:
          disks:
          - {name: place, source: {iscsi: {host: {name: %s, port: %d}, portal: '%s', lun: %d,
              auth: {user: vm, secret: {name: chap}}}}}
          - {name: cow, source: {nbd: {socket: %s}}, copy: {mode: copy-on-write}, keep: true}
          - {name: clone, source: {nbd: {socket: %s}}, copy: {mode: clone}}
          - {name: files, source: {image: "oci:%s:files"}, persistent: files}
          - {name: device, source: {pvc: device}}
    ---
    kind: Secret
    metadata: {name: chap}
    stringData: {node.session.auth.password: %s}
    """
            .formatted(
                iscsi.host(),
                iscsi.port(),
                iscsi.iqn(),
                iscsi.add(master("place")),
                serve("cow"),
                serve("clone"),
                image(),
                PASSWORD)
        + claim("files", "Filesystem", volume())
        + claim("device", "Block", device());
  }

  /** The layout of the image that is written to the claim on a file system. */
  private Path image() throws IOException {
    var disk = work.resolve("files.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", disk, "2M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 34 0 2M", disk);
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("files", Platform.LINUX_AMD64, "files.qcow2", disk);
    return layout;
  }

  Path content() {
    return content;
  }

  private Path volume() {
    return work.resolve("volume");
  }

  /** What is in the claim on a file system. */
  Path diskImg() {
    return volume().resolve("disk.img");
  }

  /** As nobody has used it. */
  void emptyClaim() throws IOException {
    Files.deleteIfExists(diskImg());
    Files.deleteIfExists(volume().resolve("disk.img.json"));
  }

  /**
   * The claim has a record that says so before the first byte of the image, and all of the image
   * before one that says so too.
   */
  void assertClaimIsWhatItsRecordSays(boolean complete) throws IOException {
    var record = volume().resolve("disk.img.json");
    if (complete) {
      assertThat(record).content().contains("\"complete\":true");
      assertThat(
              Shell.run(
                  "qemu-io", "-r", "-U", "-f", "raw", "-c", "read -P 34 64k 1984k", diskImg()))
          .doesNotContain("failed");
    } else if (Files.exists(record)) {
      assertThat(record).content().contains("\"complete\":false");
    } else if (Files.exists(diskImg())) {
      Shell.run("cmp", "-n", 3 << 20, diskImg(), "/dev/zero");
    }
  }

  private Path master(String name) throws IOException {
    return Files.copy(content, work.resolve(name + ".raw"));
  }

  private Path serve(String name) throws IOException {
    var socket = Files.createDirectory(work.resolve(name)).resolve("s");
    open.push(NbdExport.nbdkit(master(name), new NbdExport.Address.Unix(socket)));
    return socket;
  }

  private Path device() throws IOException {
    var device = LoopDevice.attach(master("device"));
    open.push(device);
    return device.path();
  }

  private static String claim(String name, String mode, Path path) {
    return """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: %1$s}
        spec: {volumeName: %1$s, volumeMode: %2$s, resources: {requests: {storage: 4Mi}}}
        ---
        kind: PersistentVolume
        metadata: {name: %1$s}
        spec: {volumeMode: %2$s, local: {path: %3$s}}
        """
        .formatted(name, mode, path);
  }

  void assertUnchanged() throws IOException {
    for (var name : List.of("place", "cow", "clone", "device")) {
      assertThat(Files.mismatch(content, work.resolve(name + ".raw"))).as(name).isEqualTo(-1);
    }
    assertThat(Sweep.names(volume())).isSubsetOf("disk.img", "disk.img.json");
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
