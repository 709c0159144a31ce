package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.Certificates;
import dev.platter.lab.FileServer;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Disks on a web server with an authority of its own that wants a token, in a guest. */
class WebDiskGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  private static final String TOKEN = "Bearer nowhere-Token-55102";
  private static final Leaks LEAKS = new Leaks("nowhere-Token-55102");
  private static final VmKey KEY = new VmKey("default", "web");

  @TempDir Path work;
  private GuestNode guest;
  private Path root;
  private Certificates certificates;
  private FileServer server;

  @BeforeEach
  void open() throws IOException {
    guest =
        new GuestNode(
            work, LIBVIRT.uri(), TestDaemon.command(work, LIBVIRT.uri(), Duration.ofMinutes(5)));
    root = Files.createDirectory(work.resolve("root"));
    certificates = Certificates.make(Files.createDirectory(work.resolve("keys")));
    server =
        FileServer.https(root, certificates)
            .requiring(new FileServer.Header("Authorization", TOKEN));
  }

  @AfterEach
  void close() throws Exception {
    guest.close();
    TestDaemon.end(work);
    server.close();
  }

  private String disk(String name, String copy) throws IOException {
    var file = root.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "raw", file, "16M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P " + name.length() + " 0 12M", file);
    return ("- {name: %s, access-mode: read-shared, copy: {mode: %s}, source: {https: {url: '%s',"
            + " ca: {name: web}, headers: [{name: Authorization, secret: {name: web, key: token}}]}}}")
        .formatted(name, copy, server.url(name));
  }

  private Objects vm(String token, String... disks) throws IOException {
    var root = guest.push("marker", MarkerGuest.qcow2());
    return Manifests.objects(
        "vm.yaml",
        """
        kind: VM
        metadata: {name: web}
        spec:
          domain:
            memory: {guest: 128Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}}
              %s
        ---
        kind: Secret
        metadata: {name: web}
        stringData:
          token: %s
          ca.crt: |
        %s
        """
            .formatted(
                root,
                String.join("\n      ", disks),
                token,
                Files.readString(certificates.ca()).indent(4)));
  }

  private void look() throws IOException {
    for (var vm : guest.node().list()) {
      LEAKS.assertNoneIn(vm + PlanJson.write(vm.plan()), "the VM's description");
    }
    assertThat(LEAKS.assertNoneInFiles(guest.layout().state())).isPositive();
    assertThat(LEAKS.assertNoneInFiles(LIBVIRT.directory())).isPositive();
    LEAKS.assertNoneInFiles(guest.layout().run());
    LEAKS.assertNoneInProcesses();
    for (var option : List.of("--inactive", "--security-info")) {
      LEAKS.assertNoneIn(
          Shell.shell()
              .execute("virsh", "-q", "-c", LIBVIRT.uri(), "dumpxml", "default.web", option)
              .output(),
          "dumpxml");
    }
  }

  private static String sha256OfFirstMebibyte(Path raw) {
    return Shell.run("sh", "-c", "head -c 1048576 " + raw + " | sha256sum | cut -c1-64").strip();
  }

  @Test
  void aGuestReadsThemInEveryModeAndTheTokenIsSeenNowhere() throws Exception {
    var modes = List.of("none", "copy-on-write", "copy-on-read", "clone");
    var disks = new String[modes.size() + 1];
    for (int i = 0; i < modes.size(); i++) {
      disks[i] = disk(modes.get(i), modes.get(i));
    }
    disks[modes.size()] =
        disk("kept", "copy-on-write").replace("name: kept,", "name: kept, keep: true,");
    for (var disk : disks) {
      var wrong = vm("mistaken", disk);
      var refused =
          catchThrowableOfType(
              PlatterException.class, () -> guest.node().run(wrong.vms().getFirst(), wrong));
      assertThat(refused).hasMessageContaining("answered 401").hasMessageNotContaining("mistaken");
      assertThat(guest.node().list()).isEmpty();
    }
    var all = vm(TOKEN, disks);
    var vm = guest.node().run(all.vms().getFirst(), all);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    for (var mode : modes) {
      var seen = console.disk(mode);
      assertThat(seen.size()).as(mode).isEqualTo(16 << 20);
      assertThat(seen.readOnly()).as(mode).isEqualTo(mode.equals("none"));
      assertThat(seen.sha1M()).as(mode).isEqualTo(sha256OfFirstMebibyte(root.resolve(mode)));
    }
    look();

    // The server goes away while the guest reads, and comes back.
    server.stop();
    guest.type(vm, "echo @@\"SUM\" $(sha256sum < $(disk none))");
    Thread.sleep(3000);
    server.restart();
    var sum = Shell.run("sha256sum", root.resolve("none")).substring(0, 64);
    console.await("@@SUM " + sum, GuestNode.BOOT);

    // So does the daemon, whose memory is all that knew the token.
    var daemon = TestDaemon.running(work).getFirst();
    daemon.destroyForcibly();
    daemon.onExit().get();
    guest.type(vm, "echo @@\"COW\" $(sha256sum < $(disk copy-on-write))");
    assertThatAnotherVersionIsRefused("copy-on-write", all);
    assertThatAnotherVersionIsRefused("none", all);
    guest.node().start(KEY, all.secrets());
    sum = Shell.run("sha256sum", root.resolve("copy-on-write")).substring(0, 64);
    console.await("@@COW " + sum, GuestNode.BOOT);

    var before = Shell.run("sh", "-c", "sha256sum " + root + "/*");
    guest.type(
        vm,
        "for d in copy-on-write copy-on-read clone; do echo written | dd of=$(disk $d) conv=fsync"
            + " 2>/dev/null || echo @@\"FAILED\" $d; done; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", GuestNode.BOOT);
    assertThat(console.lines()).noneMatch(line -> line.startsWith("@@FAILED"));
    assertThat(Shell.run("sh", "-c", "sha256sum " + root + "/*")).isEqualTo(before);
    look();
    guest.hangUp(vm);
    guest.node().stop(KEY, Duration.ZERO);
    look();
    assertThat(catchThrowableOfType(PlatterException.class, () -> guest.node().start(KEY)).code())
        .isEqualTo(PlatterException.Code.NOT_FOUND);
    // What the guest wrote lies on top of one version.
    assertThatAnotherVersionIsRefused("kept", all);
    Files.setLastModifiedTime(root.resolve("none"), FileTime.fromMillis(0));
    Files.setLastModifiedTime(root.resolve("copy-on-write"), FileTime.fromMillis(0));
    guest.node().start(KEY, all.secrets());
    guest.node().remove(KEY, true);
    assertThat(guest.layout().leases()).isEmptyDirectory();
  }

  private void assertThatAnotherVersionIsRefused(String disk, Objects all) throws IOException {
    var file = root.resolve(disk);
    var time = Files.getLastModifiedTime(file);
    Files.setLastModifiedTime(file, FileTime.fromMillis(0));
    var refused =
        catchThrowableOfType(PlatterException.class, () -> guest.node().start(KEY, all.secrets()));
    assertThat(refused).as(disk).hasMessageContaining("has changed");
    assertThat(refused.code()).isEqualTo(PlatterException.Code.REFUSED);
    Files.setLastModifiedTime(file, time);
  }

  @Test
  void thePlanSaysWhereSecretsAreAndWhoServesTheDisk() throws Exception {
    var all = vm(TOKEN, disk("none", "none"), disk("clone", "clone"));
    var planned = guest.node().plan(all.vms().getFirst(), all);
    LEAKS.assertNoneIn(planned + PlanJson.write(planned.plan()), "the plan");
    assertThat(planned.plan().steps())
        .filteredOn(Step.ServeWeb.class::isInstance)
        .singleElement()
        .extracting(Step::summary)
        .isEqualTo("let the daemon serve " + server.url("none"));
    assertThat(PlanJson.read(PlanJson.write(planned.plan()))).isEqualTo(planned.plan());
  }
}
