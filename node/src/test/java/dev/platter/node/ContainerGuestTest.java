package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.ContainerGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A container image runs as a VM; umoci unpacks it to compare. */
class ContainerGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  /** All that a file is, but for what the guest puts over the image's own. */
  private static final String LIST =
      """
      busybox find . -xdev ! -path './proc*' ! -path './sys*' ! -path './dev*' ! -name 'host*' ! -name resolv.conf |
      busybox sort | while read -r f; do
        busybox stat -c '%n %f %u %g %h %t %T' "$f"
        [ -d "$f" ] || busybox stat -c '%Y %s' "$f"
        busybox readlink "$f"
        [ ! -r "$f" -o ! -f "$f" ] || busybox sha256sum "$f"
      done""";

  @TempDir Path work;
  private GuestNode guest;

  @BeforeEach
  void openNode() {
    System.setProperty(BootFiles.PROPERTY, ContainerGuest.directory().toString());
    guest = new GuestNode(work, LIBVIRT.uri());
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
    System.clearProperty(BootFiles.PROPERTY);
  }

  /** Thirty layers: busybox, files that replace each other, links, and two that take away. */
  private Path image() {
    Shell.run(
        "sh",
        "-euc",
        """
        cd $0
        umoci init --layout oci && umoci new --image oci:busy
        mkdir -p root/bin root/etc root/tmp root/proc root/sys root/dev root/srv/app root/gone/deep
        cp $(command -v busybox) root/bin/busybox && ln -s busybox root/bin/sh
        echo 'app:x:1234:77::/srv:/bin/sh' > root/etc/passwd && echo 'extra:x:88:app' > root/etc/group
        echo 1 > root/srv/one && ln root/srv/one root/srv/two && chmod 4750 root/srv/one
        chown -h 5:6 root/bin/sh && chown 1234:77 root/srv/app && mkfifo root/srv/pipe
        echo x > root/gone/deep/file && mknod root/srv/null c 1 3
        umoci insert --image oci:busy root /
        for i in $(seq 2 28); do echo layer $i > file && umoci insert --image oci:busy file /srv/now; done
        umoci insert --image oci:busy --whiteout /gone
        echo last > file && umoci insert --image oci:busy file /srv/last
        umoci config --image oci:busy --config.entrypoint /bin/sh --config.entrypoint -c --config.user app \\
          --config.workingdir /srv/app --config.env 'WHO=a VM' --config.env PATH=/bin
        umoci unpack --image oci:busy bundle && chmod 755 . bundle
        """,
        work);
    return work.resolve("oci");
  }

  @Test
  void theProgramOfAnImageOfThirtyLayersRunsAsItsConfigSays() throws IOException {
    var oci = image();
    var script =
        "echo \"@$WHO $HOME $PWD $(busybox id -u):$(busybox id -g):$(busybox id -G) pid=$$\";"
            + " echo no > /srv/no 2>/dev/null || echo @mine;"
            + " echo @written > here && busybox cat here && busybox rm here;"
            + " cd /; echo @begin\n"
            + LIST
            + "\necho @end; exit 42";
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: thirty}
            spec:
              domain:
                memory: {guest: 128Mi}
                devices:
                  disks:
                  - name: root
                    source:
                      containerImage:
                        image: "oci:%s:busy"
                        args:
                        - |
            %s
            """
                .formatted(oci, script.indent(14).stripTrailing()));
    assertThat(vm.plan().disks().getFirst().chain()).hasSize(1 + 30);
    var console = guest.console(vm);
    console.await("^@end", GuestNode.BOOT);
    awaitEnd(vm);
    assertThat(guest.node().exit(vm.key())).isEqualTo(OptionalInt.of(42));
    assertThat(console.lines().stream().filter(line -> line.startsWith("@")))
        .containsExactly(
            "@a VM /srv /srv/app 1234:77:77 88 pid=1", "@mine", "@written", "@begin", "@end");
    var lines = console.lines();
    var listed = lines.subList(lines.indexOf("@begin") + 1, lines.indexOf("@end"));
    var oracle =
        Shell.run(
            "sh",
            "-c",
            "cd $0 && setpriv --reuid 1234 --regid 77 --groups 77,88 sh -c \"$1\"",
            work.resolve("bundle/rootfs"),
            LIST);
    assertThat(String.join("\n", listed)).isEqualTo(oracle.strip());
    assertThat(oracle).contains("./srv/last ").doesNotContain("./gone");
  }

  private void awaitEnd(VmStatus vm) throws IOException {
    var end = System.nanoTime() + GuestNode.BOOT.toNanos();
    while (guest.node().status(vm.key()).phase() != VmStatus.Phase.STOPPED) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.onSpinWait();
      java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
    }
    assertThat(Files.exists(vm.consoleLog())).isTrue();
  }
}
