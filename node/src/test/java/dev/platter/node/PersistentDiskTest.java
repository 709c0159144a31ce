package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images that are written to claims. What the disks hold is qemu-io's and cmp's to say. */
class PersistentDiskTest {
  private static final VmKey KEY = new VmKey("default", "vm");

  @TempDir Path work;
  private Node node;
  private Path volume;

  /** The bytes of an image after which nobody wants it any more. */
  private long most = Long.MAX_VALUE;

  @BeforeEach
  void openNode() throws IOException {
    var progress =
        new Progress() {
          @Override
          public void bytes(String what, long done, long total) {
            if (what.equals(FILL) && done >= most) {
              throw Cancellation.cancelled();
            }
          }
        };
    node = LocalNode.open(Sweep.config(work, ""), new IdleMachine(), progress);
    volume = Files.createDirectory(work.resolve("volume"));
  }

  @AfterEach
  void closeNode() {
    node.close();
  }

  /** Of 8 MiB, with the pattern from 1 MiB to 3 MiB. */
  private String image(String tag, int pattern) throws IOException {
    var disk = work.resolve(tag + pattern + ".qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", disk, "8M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P %d 1M 2M".formatted(pattern), disk);
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add(tag, Platform.LINUX_AMD64, "disk.qcow2", disk);
    return "oci:" + layout + ":" + tag;
  }

  private static String vm(String image) {
    return disk("{name: root, source: {image: '%s'}, persistent: c}".formatted(image));
  }

  private static String disk(String disk) {
    return "kind: VM\nmetadata: {name: vm}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
        .formatted(disk);
  }

  private static String claim(String mode, Path path, String size, String refill) {
    return """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: c, annotations: {platter.dev/refill: %4$s}}
        spec: {volumeName: v, volumeMode: %1$s, resources: {requests: {storage: %3$s}}}
        ---
        kind: PersistentVolume
        metadata: {name: v}
        spec: {volumeMode: %1$s, local: {path: %2$s}}
        """
        .formatted(mode, path, size, refill);
  }

  private String files() {
    return claim("Filesystem", volume, "20Mi", "null");
  }

  private Path img() {
    return volume.resolve("disk.img");
  }

  private void start(String yaml) throws IOException {
    var objects = Manifests.objects("t.yaml", yaml);
    node.run(objects.vms().getFirst(), objects);
  }

  private void run(String yaml) throws IOException {
    start(yaml);
    node.remove(KEY, true);
  }

  private PlatterException refused(String yaml) {
    var refused = catchThrowableOfType(PlatterException.class, () -> start(yaml));
    assertThat(refused).isNotNull();
    return refused;
  }

  private static void holds(Path disk, int pattern, String... ranges) {
    for (var range : ranges) {
      var out =
          Shell.run(
              "qemu-io", "-r", "-f", "raw", "-c", "read -P %d %s".formatted(pattern, range), disk);
      assertThat(out).doesNotContain("verification failed").contains("read ");
    }
  }

  private static void write(Path disk, int pattern, String range) {
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P %d %s".formatted(pattern, range), disk);
  }

  @Test
  void anImageIsWrittenOnceAndWhatIsWrittenLaterStays() throws IOException {
    var image = image("a", 17);
    start(vm(image) + files());
    holds(img(), 17, "1M 2M");
    holds(img(), 0, "0 1M", "3M 16M");
    assertThat(img()).as("the claim, less the reserve").hasSize(19 << 20);
    node.stop(KEY, Duration.ZERO);
    write(img(), 42, "2M 4M");
    node.start(KEY);
    node.remove(KEY, true);
    assertThat(node.collect()).as("the image is not needed any more").hasSize(1);
    Durable.deleteTree(work.resolve("layout"));
    run(vm(image) + files());
    holds(img(), 17, "1M 1M");
    holds(img(), 42, "2M 4M");
    assertThat(Sweep.names(volume)).containsExactly("disk.img", "disk.img.json");
  }

  @Test
  void aTagThatMovedOnChangesNothingAndAnotherImageIsRefusedUntilTheClaimAsksForIt()
      throws IOException {
    var image = image("a", 17);
    run(vm(image) + files());
    write(img(), 42, "15M 1M");
    image("a", 18);
    run(vm(image) + files());
    holds(img(), 17, "1M 2M");
    var other = image("b", 19);
    var refused = refused(vm(other) + files());
    assertThat(refused.code()).isEqualTo(Code.REFUSED);
    assertThat(refused)
        .hasMessageContaining("the claim default/c holds the image " + image)
        .extracting(e -> ((PlatterException) e).next())
        .asString()
        .contains("platter.dev/refill: sha256:");
    holds(img(), 42, "15M 1M");
    var asked = claim("Filesystem", volume, "20Mi", "once");
    run(vm(other) + asked);
    holds(img(), 19, "1M 2M");
    holds(img(), 0, "0 1M", "3M 16M");
    write(img(), 43, "15M 1M");
    run(vm(other) + asked);
    holds(img(), 43, "15M 1M");
    run(vm(other) + claim("Filesystem", volume, "20Mi", "twice"));
    write(img(), 44, "15M 1M");
    run(vm(other) + asked);
    holds(img(), 44, "15M 1M");
    assertThat(refused(vm(image) + asked).code()).isEqualTo(Code.REFUSED);
  }

  @Test
  void bytesOfSomebodyElseAreNeverWrittenOver() throws IOException {
    var image = image("a", 17);
    Shell.run("truncate", "-s", "19M", img());
    write(img(), 5, "18M 1M");
    assertThat(refused(vm(image) + claim("Filesystem", volume, "20Mi", "now")))
        .hasMessage("the claim default/c holds bytes that Platter has not written there");
    holds(img(), 5, "18M 1M");
    holds(img(), 0, "0 18M");
    assertThat(Sweep.names(volume)).containsExactly("disk.img");
    Files.delete(img());
    run(vm(image) + files());
    var theirs = volume.resolve("theirs");
    Shell.run("truncate", "-s", "19M", theirs);
    Files.move(theirs, img(), StandardCopyOption.REPLACE_EXISTING);
    write(img(), 5, "18M 1M");
    assertThat(refused(vm(image) + claim("Filesystem", volume, "20Mi", "now")))
        .as("another disk beside our record")
        .hasMessageContaining("bytes that Platter has not written");
    holds(img(), 5, "18M 1M");
  }

  @Test
  void halfADiskIsNeverUsedAndWrittenAgain() throws IOException {
    var image = image("a", 17);
    run(vm(image) + files());
    var record = volume.resolve("disk.img.json");
    Files.writeString(
        record, Files.readString(record).replace("\"complete\":true", "\"complete\":false"));
    write(img(), 5, "2M 10M");
    assertThat(refused(disk("{source: {pvc: c}}") + files()))
        .hasMessage(img() + " holds a part of the image " + image + "; its copy was cut short");
    assertThat(refused(disk("{source: {pvc: c}, copy: {mode: clone}}") + files()))
        .hasMessageContaining("its copy was cut short");
    run(vm(image) + files());
    holds(img(), 17, "1M 2M");
    holds(img(), 0, "0 1M", "3M 16M");
    run(disk("{source: {pvc: c}}") + files());
  }

  @Test
  void aCopyThatIsGivenUpBeginsAgain() throws IOException {
    var image = image("a", 17);
    most = 0;
    assertThat(refused(vm(image) + files())).hasMessage("cancelled");
    assertThat(volume.resolve("disk.img.json")).doesNotExist();
    most = 1;
    assertThat(refused(vm(image) + files())).hasMessage("cancelled");
    assertThat(node.list()).isEmpty();
    assertThat(volume.resolve("disk.img.json")).content().contains("\"complete\":false");
    most = Long.MAX_VALUE;
    run(vm(image) + files());
    holds(img(), 17, "1M 2M");
    assertThat(volume.resolve("disk.img.json")).content().contains("\"complete\":true");
  }

  @Test
  void aRecordThatSomebodyPutThereIsNotFollowed() throws IOException {
    var image = image("a", 17);
    var record = volume.resolve("disk.img.json");
    for (var bad :
        new String[] {
          "ln -s /etc/hostname",
          "mkfifo",
          "mkdir",
          "echo '{}' >",
          "echo '{\"digest\": \"sha256:%s\"}' >".formatted("0".repeat(64)),
          "yes | head -c 9999 >"
        }) {
      Shell.run("sh", "-ec", bad + " " + record);
      assertThat(refused(vm(image) + files()).code()).as(bad).isEqualTo(Code.REFUSED);
      Shell.run("rm", "-r", record);
    }
    run(vm(image) + files());
  }

  @Test
  void aDeviceIsFilledOnceAndItsRecordIsNotOnIt() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var image = image("a", 17);
    var file = work.resolve("device");
    Shell.run("truncate", "-s", "12M", file);
    try (var device = LoopDevice.attach(file)) {
      var block = claim("Block", device.path(), "12Mi", "null");
      run(vm(image) + block);
      Shell.run("qemu-img", "convert", "-O", "raw", work.resolve("a17.qcow2"), work.resolve("raw"));
      Shell.run("cmp", "-n", 8 << 20, work.resolve("raw"), file);
      holds(file, 0, "8M 4M");
      write(device.path(), 42, "2M 10M");
      run(vm(image) + block);
      holds(device.path(), 42, "2M 10M");
      run(vm(image) + claim("Block", device.path(), "12Mi", "again"));
      holds(device.path(), 17, "1M 2M");
      holds(device.path(), 0, "3M 9M");
    }
  }

  @Test
  void aDeviceThatIsTooSmallOrSomebodyElsesIsRefusedAndLeftAlone() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var image = image("a", 17);
    var small = work.resolve("small");
    var theirs = work.resolve("theirs");
    Shell.run("truncate", "-s", "7M", small);
    Shell.run("truncate", "-s", "12M", theirs);
    write(theirs, 5, "11M 512");
    try (var one = LoopDevice.attach(small);
        var other = LoopDevice.attach(theirs)) {
      assertThat(refused(vm(image) + claim("Block", one.path(), "7Mi", "null")))
          .hasMessage(
              "the image %s has 8Mi, which does not fit on the claim default/c, whose disk has 7Mi"
                  .formatted(image));
      assertThat(refused(vm(image) + claim("Block", other.path(), "12Mi", "null")))
          .hasMessageContaining("bytes that Platter has not written");
      holds(small, 0, "0 7M");
      holds(theirs, 0, "0 11M");
      holds(theirs, 5, "11M 512");
    }
    assertThat(node.list()).isEmpty();
  }
}
