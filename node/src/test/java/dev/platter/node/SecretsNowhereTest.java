package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A password is in no file, argument, environment, description, message or error. */
class SecretsNowhereTest {
  private static final String PASSWORD = "nowhere-Chap-71845";
  private static final String WRONG = "mistaken-Chap-9034";
  private static final Leaks LEAKS = new Leaks(PASSWORD, WRONG);
  private static final VmKey KEY = new VmKey("default", "all");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private IscsiTarget iscsi;

  /** What a terminal would show, and the programs that were seen while disks were copied. */
  private final StringBuilder told = new StringBuilder();

  private final Set<String> programs = new TreeSet<>();

  private Progress recorder() {
    return (Progress)
        Proxy.newProxyInstance(
            Progress.class.getClassLoader(),
            new Class<?>[] {Progress.class},
            (_, method, arguments) -> {
              for (var argument : arguments == null ? new Object[0] : arguments) {
                told.append(argument).append(argument instanceof Step s ? s.summary() : "");
              }
              if (method.getName().equals("bytes")) {
                programs.addAll(LEAKS.assertNoneInProcesses());
              }
              return null;
            });
  }

  private Objects vm(String name, String password, String... disks) {
    return Manifests.objects(
        "vm.yaml",
        """
        kind: VM
        metadata: {name: %s}
        spec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}
        ---
        kind: Secret
        metadata: {name: chap}
        data: {node.session.auth.password: %s}
        """
            .formatted(
                name,
                String.join(", ", disks),
                Base64.getEncoder().encodeToString(password.getBytes())));
  }

  private String disk(int lun, String copy) {
    return ("{name: %1$s, copy: {mode: %1$s}, source: {iscsi: {host: {name: %2$s, port: %3$d},"
            + " portal: '%4$s', lun: %5$d, auth: {user: vm, secret: {name: chap}}}}}")
        .formatted(copy, iscsi.host(), iscsi.port(), iscsi.iqn(), lun);
  }

  @Test
  void thePasswordOfADiskIsSeenNowhere() throws Exception {
    iscsi =
        IscsiTarget.start(
            Files.createDirectory(work.resolve("iscsi")), new IscsiTarget.Chap("vm", PASSWORD));
    try (var _ = iscsi;
        var node = LocalNode.open(Sweep.config(work, LIBVIRT.uri()), recorder())) {
      for (var i = 0; i < 3; i++) {
        var raw = work.resolve(i + ".raw");
        Shell.run("qemu-img", "create", "-q", "-f", "raw", raw, "4M");
        iscsi.add(raw);
      }
      var disks = List.of(disk(1, "none"), disk(2, "copy-on-write"), disk(3, "clone"));
      for (var disk : disks) {
        refused(node, vm("wrong", WRONG, disk));
      }
      var all = vm("all", PASSWORD, disks.toArray(String[]::new));
      LEAKS.assertNoneIn(all.toString(), "the objects");
      var planned = node.plan(all.vms().getFirst(), all);
      LEAKS.assertNoneIn(planned + PlanJson.write(planned.plan()), "the plan");

      node.run(all.vms().getFirst(), all);
      look(node);
      lookAtLibvirt();
      node.stop(KEY, Duration.ZERO);
      look(node);
      var wrong = vm("all", WRONG, disks.toArray(String[]::new)).secrets();
      LEAKS.assertNoneIn(
          catchThrowableOfType(PlatterException.class, () -> node.start(KEY, wrong)));
      node.start(KEY, all.secrets());
      look(node);
      node.remove(KEY, true);
      look(node);
    }
    assertThat(programs).as("what was looked at").contains("qemu-nbd", "libvirtd");
  }

  private void refused(Node node, Objects objects) throws IOException {
    var refused =
        catchThrowableOfType(
            PlatterException.class, () -> node.run(objects.vms().getFirst(), objects));
    assertThat(refused).isNotNull();
    LEAKS.assertNoneIn(refused);
    look(node);
  }

  private void look(Node node) throws IOException {
    for (var vm : node.list()) {
      LEAKS.assertNoneIn(vm + PlanJson.write(vm.plan()), "the VM's description");
    }
    assertThat(LEAKS.assertNoneInFiles(node.layout().state())).isPositive();
    assertThat(LEAKS.assertNoneInFiles(LIBVIRT.directory())).isPositive();
    LEAKS.assertNoneInFiles(node.layout().run());
    programs.addAll(LEAKS.assertNoneInProcesses());
    LEAKS.assertNoneIn(told.toString(), "progress");
  }

  private void lookAtLibvirt() {
    assertThat(programs).contains("qemu-system-x86_64");
    var domain = virsh("domid", "default.all").out().strip();
    for (var option : List.of("--inactive", "--security-info")) {
      var shown = virsh("dumpxml", domain, option);
      assertThat(shown.out()).contains("<secret type='iscsi'");
      LEAKS.assertNoneIn(shown.output(), "dumpxml " + option);
    }
    var secrets = virsh("secret-list").out().lines().filter(line -> !line.isBlank()).toList();
    assertThat(secrets).as("one of each disk that QEMU logs in for").hasSize(2);
    for (var line : secrets) {
      var uuid = line.strip().split(" ", 2)[0];
      var shown = virsh("secret-dumpxml", uuid);
      assertThat(shown.out()).contains("ephemeral='yes' private='yes'");
      LEAKS.assertNoneIn(shown.output(), "secret-dumpxml");
      var value = virsh("secret-get-value", uuid);
      assertThat(value.status()).isNotZero();
      assertThat(value.err()).contains("private");
      LEAKS.assertNoneIn(value.output(), "secret-get-value");
    }
  }

  private static Shell.Result virsh(Object... arguments) {
    return Shell.shell()
        .execute(
            Stream.concat(Stream.of("virsh", "-q", "-c", LIBVIRT.uri()), Stream.of(arguments))
                .toArray());
  }

  @Test
  void aPasswordThatIsSomewhereIsFound() throws Exception {
    var leaks = new Leaks("elsewhere-Chap-5");
    for (var text :
        List.of(
            "the elsewhere-Chap-5 word",
            base64("elsewhere-Chap-5"),
            base64("u:elsewhere-Chap-5!"),
            base64("us:elsewhere-Chap-5 and more"),
            base64("a longer text: elsewhere-Chap-5"))) {
      var file = Files.writeString(work.resolve("file"), text);
      assertThatThrownBy(() -> leaks.assertNoneInFiles(work))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining(file.toString());
    }
    assertIsFound(leaks, new ProcessBuilder("sh", "-c", "read _", "elsewhere-Chap-5"));
    var environment = new ProcessBuilder("sh", "-c", "read _");
    environment.environment().put("A", "elsewhere-Chap-5");
    assertIsFound(leaks, environment);
  }

  private static void assertIsFound(Leaks leaks, ProcessBuilder builder) throws Exception {
    var process = builder.start();
    try {
      assertThatThrownBy(leaks::assertNoneInProcesses)
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("/proc/" + process.pid());
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes());
  }
}
