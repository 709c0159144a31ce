package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * What happens to a VM over stops, starts and other VMs. The guests have nothing to boot; libvirt
 * and QEMU are real.
 */
class VmLifeTest {
  private static final VmKey A = new VmKey("default", "a");
  private static final VmKey B = new VmKey("default", "b");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private GuestNode guest;

  @BeforeEach
  void openNode() {
    guest = new GuestNode(work, LIBVIRT.uri());
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
  }

  private static String vm(String name, String disk) {
    return "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
        .formatted(name, disk);
  }

  private Path file(String name) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "raw", file, "1M");
    return file;
  }

  @Test
  void ofTwoStartsAtOnceOneStartsTheVmAndTheOtherLeavesItAlone() throws Exception {
    guest.run(vm("a", "{source: {blank: {}}, size: 1Mi}"));
    guest.node().stop(A, Duration.ZERO);
    var refused = 0;
    try (var threads = Executors.newFixedThreadPool(2)) {
      List<Future<VmStatus>> starts = new ArrayList<>();
      for (var i = 0; i < 2; i++) {
        starts.add(threads.submit(() -> guest.node().start(A)));
      }
      for (var start : starts) {
        try {
          start.get();
        } catch (java.util.concurrent.ExecutionException e) {
          assertThat(e.getCause()).hasMessageContaining("is running already");
          refused++;
        }
      }
    }
    assertThat(refused).isEqualTo(1);
    assertThat(guest.node().status(A).phase()).isEqualTo(VmStatus.Phase.RUNNING);
  }

  @Test
  void theConsoleOfAVmIsWatchedAlsoAfterItsNextStart() throws IOException {
    guest.run(vm("a", "{source: {blank: {}}, size: 1Mi}"));
    assertThat(consoleWatches()).hasSize(1);
    guest.node().stop(A, Duration.ZERO);
    guest.node().start(A);
    var qemu = guest.node().process(A).orElseThrow();
    assertThat(consoleWatches()).anyMatch(line -> line.contains(" " + qemu + " "));
  }

  /** That of a QEMU that has ended looks for it once more. */
  private List<String> consoleWatches() throws IOException {
    var log = guest.node().status(A).consoleLog().toString();
    return ProcessHandle.allProcesses()
        .map(VmLifeTest::line)
        .filter(line -> line.contains("\0platter-console\0") && line.contains(log))
        .distinct() // For a moment, a program that it starts looks like itself.
        .map(line -> line.replace('\0', ' '))
        .toList();
  }

  private static String line(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc/" + process.pid() + "/cmdline"));
    } catch (IOException e) {
      return ""; // It has ended.
    }
  }

  @Test
  void theSourceOfAKeptOverlayIsGuardedWhileItsVmIsStopped() throws IOException {
    var master = file("master.raw");
    guest.run(vm("a", "{source: {file: " + master + "}, copy: {mode: copy-on-write}, keep: true}"));
    guest.node().stop(A, Duration.ZERO);
    assertThatThrownBy(() -> guest.run(vm("b", "{source: {file: " + master + "}}")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("in use by the VM default/a");
    guest.node().remove(A, false);
    guest.run(vm("b", "{source: {file: " + master + "}}"));
  }

  @Test
  void disksOfOneVmMayHaveTheSameSourceAndEachItsOwnLease() throws IOException {
    var master = file("master.raw");
    var source = "source: {file: " + master + "}, copy: {mode: ";
    guest.run(
        vm("a", "{%1$scopy-on-write}, keep: true}, {%1$scopy-on-write}}, {%1$sclone}}")
            .replace("%1$s", source));
    guest.node().stop(A, Duration.ZERO);
    assertThatThrownBy(() -> guest.run(vm("b", "{source: {file: " + master + "}}")))
        .as("the kept overlay still lies on it")
        .hasMessageContaining("in use by the VM default/a");
    guest.node().remove(A, false);
    guest.run(vm("b", "{source: {file: " + master + "}}"));
  }

  @Test
  void aCloneNeedsItsSourceOnlyOnce() throws IOException {
    var template = file("template.raw");
    guest.run(vm("a", "{source: {file: " + template + "}, copy: {mode: clone}, keep: true}"));
    guest.run(vm("b", "{source: {file: " + template + "}}"));
    guest.node().remove(B, true);
    Files.delete(template);
    guest.node().stop(A, Duration.ZERO);
    assertThat(guest.node().start(A).phase()).isEqualTo(VmStatus.Phase.RUNNING);
  }

  @Test
  void aChangedCloudInitIsNotIgnored() throws IOException {
    var yaml =
        vm("a", "{source: {blank: {}}, size: 1Mi}")
            .replace("spec: {", "spec: {cloudInit: {userData: {hostname: one}}, ");
    guest.run(yaml);
    guest.node().stop(A, Duration.ZERO);
    assertThatThrownBy(() -> guest.run(yaml.replace("one", "two")))
        .hasMessageContaining("different description");
    assertThat(guest.run(yaml).phase()).isEqualTo(VmStatus.Phase.RUNNING);
  }

  @Test
  void aUuidBelongsToOneVm() throws IOException {
    var uuid = "domain: {firmware: {uuid: 1b4d298f-6151-40b0-a1d4-269fc41d48f0}, ";
    guest.run(vm("a", "{source: {blank: {}}, size: 1Mi}").replace("domain: {", uuid));
    guest.node().stop(A, Duration.ZERO);
    assertThatThrownBy(
            () -> guest.run(vm("b", "{source: {blank: {}}, size: 1Mi}").replace("domain: {", uuid)))
        .hasMessageContaining("the VM default/a has the UUID");
  }

  @Test
  void aVmStaysWithTheLibvirtItWasMadeWith() throws IOException {
    guest.run(vm("a", "{source: {blank: {}}, size: 1Mi}"));
    var config = new NodeConfig(guest.layout(), Optional.of("test:///default"), Optional.empty());
    try (var other = LocalNode.open(config, Progress.NONE)) {
      other.tidy();
      assertThat(other.status(A).phase()).isEqualTo(VmStatus.Phase.RUNNING);
    }
  }

  @Test
  void aRecordThatCannotBeReadStandsInNobodysWay() throws IOException {
    guest.run(vm("a", "{source: {blank: {}}, size: 1Mi}"));
    var plan = guest.layout().plan(guest.layout().vm(A));
    var text = Files.readString(plan);
    Files.writeString(plan, text.replace("\"version\" : 1", "\"version\" : 99"));
    var warnings = new ArrayList<String>();
    var config = new NodeConfig(guest.layout(), Optional.of(LIBVIRT.uri()), Optional.empty());
    var told =
        new Progress() {
          @Override
          public void warning(String warning) {
            warnings.add(warning);
          }
        };
    try (var node = LocalNode.open(config, told)) {
      node.tidy();
      assertThat(warnings).singleElement().asString().contains("default/a", "version 99");
      node.run(Manifests.read("b.yaml", vm("b", "{source: {blank: {}}, size: 1Mi}")).getFirst());
      assertThat(node.list()).extracting(VmStatus::key).containsExactly(B);
      assertThatThrownBy(node::collect)
          .as("it may use any image")
          .hasMessageContaining("default/a");
    } finally {
      Files.writeString(plan, text);
    }
  }

  @Test
  void aForeignFileUnderTheNameOfADiskIsNotTouchedByALaterStart() throws IOException {
    var status = guest.run(vm("a", "{name: d, source: {blank: {}}, size: 1Mi}"));
    guest.node().stop(A, Duration.ZERO);
    var disk = guest.layout().disk("default", status.plan().uuid(), "d", "raw");
    Files.writeString(disk, "foreign");
    assertThatThrownBy(() -> guest.node().start(A))
        .hasMessageContaining("no record of Platter names it");
    assertThat(Files.readString(disk)).isEqualTo("foreign");
    Files.delete(disk);
  }

  @Test
  void aDomainThatCannotStartLeavesNothing() throws IOException {
    int port;
    try (var taken = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
      port = taken.getLocalPort();
      var yaml =
          vm("a", "{source: {blank: {}}, size: 1Mi}")
              .replace("spec: {", "spec: {network: {publish: ['" + port + ":22']}, ");
      assertThatThrownBy(() -> guest.run(yaml)).hasMessageContaining("libvirt cannot start the VM");
    }
    assertThat(guest.node().list()).isEmpty();
    try (var files = Files.list(guest.layout().pool("default"))) {
      assertThat(files).isEmpty();
    }
  }
}
