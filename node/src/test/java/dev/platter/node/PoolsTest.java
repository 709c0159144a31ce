package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Pools as virsh sees them. The guests have nothing to boot. */
class PoolsTest {
  private static final VmKey A = new VmKey("default", "a");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private Path ssd;
  private Path rust;
  private Path config;
  private GuestNode guest;

  @BeforeEach
  void openNode() throws IOException {
    ssd = Files.createDirectory(work.resolve("ssd"));
    rust = Files.createDirectory(work.resolve("rust & <dust>"));
    config = work.resolve("node.yaml");
    configure(ssd);
    open();
  }

  private void configure(Path fast) throws IOException {
    Files.writeString(
        config,
        """
        annotations:
          kubevirt.io/storage.usage-type.fast: %s
          kubevirt.io/storage.usage-type.slow: %s
        """
            .formatted(fast, rust));
  }

  private void open() {
    guest = new GuestNode(work, LIBVIRT.uri(), List.of(), Optional.of(config), Progress.NONE);
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
  }

  private static String vm(String name, String... disks) {
    return "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
        .formatted(name, String.join(", ", disks));
  }

  private static String blank(String name, String usageType) {
    return "{name: %s, source: {blank: {}}, size: 1Mi, keep: true, copy: {usage-type: %s}}"
        .formatted(name, usageType);
  }

  private static String virsh(Object... arguments) {
    return Shell.run(
        Stream.concat(Stream.of("virsh", "-q", "-c", LIBVIRT.uri()), Stream.of(arguments))
            .toArray());
  }

  private static List<String> volumes(String pool) {
    return virsh("vol-list", pool)
        .lines()
        .filter(line -> !line.isBlank())
        .map(line -> line.strip().split(" ")[0])
        .toList();
  }

  private static List<String> names(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void disksLieInThePoolsOfTheirUsageTypesAndVirshSeesThemComeAndGo() throws IOException {
    var master = work.resolve("master.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", master, "3M");
    Shell.run(
        "qemu-img",
        "create",
        "-q",
        "-f",
        "qcow2",
        "-u",
        "-F",
        "raw",
        "-b",
        "nbd://127.0.0.1:1/x",
        ssd.resolve("on-a-dead-server.qcow2"),
        "1M");
    var plan =
        guest
            .run(
                vm(
                    "a",
                    "{name: o, source: {file: %s}, copy: {mode: copy-on-write, usage-type: fast}}"
                        .formatted(master),
                    blank("s", "slow"),
                    "{name: d, source: {blank: {}}, size: 1Mi}"))
            .plan();
    var overlay = StateLayout.diskFile(plan.uuid(), "o", "qcow2");
    var slow = StateLayout.diskFile(plan.uuid(), "s", "raw");
    assertThat(names(ssd)).containsExactly(overlay, "on-a-dead-server.qcow2");
    assertThat(names(rust)).containsExactly(slow);

    guest.node().close();
    assertThat(volumes("platter-fast"))
        .containsExactlyInAnyOrder(overlay, "on-a-dead-server.qcow2");
    assertThat(volumes("platter-slow")).as("libvirt does not look at raw disks").isEmpty();
    assertThat(volumes("platter-default")).isEmpty();
    assertThat(virsh("vol-dumpxml", overlay, "platter-fast")).contains(master.toString());

    open();
    guest.node().stop(A, Duration.ZERO);
    guest.node().close();
    assertThat(volumes("platter-fast")).as("an overlay ends with the run").hasSize(1);
    assertThat(names(rust)).as("a kept disk stays").containsExactly(slow);

    open();
    guest.node().remove(A, false);
    guest.node().close();
    assertThat(volumes("platter-slow")).isEmpty();
    assertThat(virsh("pool-list", "--name").split("\\s+"))
        .contains("platter-default", "platter-fast", "platter-slow");
    open();
  }

  @Test
  void aPoolThatSomebodyStoppedIsStartedAgain() throws IOException {
    var master = work.resolve("master.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", master, "1M");
    guest.run(
        vm(
            "a",
            "{name: d, source: {file: %s}, copy: {mode: copy-on-write, usage-type: fast}, keep: true}"
                .formatted(master)));
    guest.node().stop(A, Duration.ZERO);
    virsh("pool-destroy", "platter-fast");
    guest.node().start(A);
    assertThat(virsh("pool-info", "platter-fast")).containsPattern("State: +running");
  }

  @Test
  void aForeignPoolOfTheSameNameIsNotTouched() throws IOException {
    var theirs = Files.createDirectory(work.resolve("theirs"));
    configure(ssd);
    Files.writeString(
        config,
        "  kubevirt.io/storage.usage-type.taken: %s%n".formatted(work.resolve("ours")),
        java.nio.file.StandardOpenOption.APPEND);
    Files.createDirectory(work.resolve("ours"));
    guest.close();
    open();
    virsh("pool-define-as", "platter-taken", "dir", "--target", theirs);
    var before = virsh("pool-dumpxml", "platter-taken");
    try {
      assertThatThrownBy(() -> guest.run(vm("a", blank("d", "taken"))))
          .isInstanceOf(PlatterException.class)
          .hasMessage("libvirt has a storage pool platter-taken that Platter did not make");
      assertThat(virsh("pool-dumpxml", "platter-taken")).isEqualTo(before);
      assertThat(names(work.resolve("ours"))).isEmpty();
      assertThat(guest.node().list()).isEmpty();
    } finally {
      virsh("pool-undefine", "platter-taken");
    }
  }

  @Test
  void disksStayWhereTheyAreWhenTheirPoolMoves() throws IOException {
    guest.run(vm("a", blank("d", "fast")));
    guest.node().stop(A, Duration.ZERO);
    guest.node().close();
    var elsewhere = Files.createDirectory(work.resolve("elsewhere"));
    configure(elsewhere);
    open();
    assertThat(guest.run(vm("a", blank("d", "fast"))).phase()).isEqualTo(VmStatus.Phase.RUNNING);
    guest.run(vm("b", blank("d", "fast")));
    assertThat(names(ssd)).hasSize(1);
    assertThat(names(elsewhere)).hasSize(1);
    assertThat(virsh("pool-dumpxml", "platter-fast")).contains("<path>" + elsewhere + "</path>");
    guest.node().remove(A, true);
    assertThat(names(ssd)).isEmpty();
  }

  @Test
  void aDirectoryThatIsGoneIsAClearErrorAndNotMadeAnew() throws IOException {
    guest.run(vm("a", blank("d", "fast")));
    guest.node().stop(A, Duration.ZERO);
    var unmounted = work.resolve("unmounted");
    Files.move(ssd, unmounted);
    assertThatThrownBy(() -> guest.node().start(A))
        .hasMessageContaining("the directory of the pool fast, is not there");
    assertThat(ssd).doesNotExist();
    Files.move(unmounted, ssd);
    guest.node().start(A);
  }

  @Test
  void whatDisksTakeIsWhatOthersCount() throws IOException {
    Files.writeString(ssd.resolve("foreign.raw"), "does not count".repeat(10_000));
    var master = work.resolve("master.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", master, "3M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 5 0 1M", master);
    guest.run(
        vm(
            "a",
            "{name: o, source: {file: %s}, copy: {mode: copy-on-write, usage-type: fast}, size: 8Mi}"
                .formatted(master),
            "{name: c, source: {file: %s}, copy: {mode: clone, usage-type: fast}}"
                .formatted(master)));
    var fast = status("fast");
    var disks = names(ssd).stream().filter(name -> !name.startsWith("foreign")).toList();
    assertThat(disks).hasSize(2);
    var allocated =
        disks.stream()
            .mapToLong(
                name -> Long.parseLong(Shell.run("stat", "-c", "%b", ssd.resolve(name)).strip()))
            .sum();
    assertThat(fast.allocated()).isEqualTo(512 * allocated).isGreaterThanOrEqualTo(1 << 20);
    assertThat(fast.promised()).isEqualTo(11 << 20);
    assertThat(fast.disks()).isEqualTo(2);
    assertThat(fast.vms()).containsExactly(A);
    assertThat(status("slow").disks()).isZero();
    assertThat(status("default").vms()).isEmpty();
  }

  private PoolStatus status(String name) throws IOException {
    return guest.node().pools().stream()
        .filter(pool -> pool.pool().name().equals(name))
        .findFirst()
        .orElseThrow();
  }
}
