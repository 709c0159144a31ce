package dev.platter.node.libvirt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The private libvirt of a user who is not root, tried by root in the name of nobody. Without root
 * every other test is about session mode already.
 */
class SessionModeTest {
  private static final int NOBODY = 65534;

  private Path directory;
  private LibvirtdFiles files;

  @BeforeEach
  void giveNobodyADirectory() throws IOException {
    assumeTrue((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0, "not root");
    directory = Files.createTempDirectory("ls");
    // The build directory need not be readable for nobody.
    for (String classes : List.of("classes", "test-classes")) {
      PrivateLibvirtExtension.copy(Path.of("target", classes), directory.resolve(classes));
    }
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path home = Files.createDirectory(directory.resolve("h"));
    Files.setAttribute(home, "unix:uid", NOBODY);
    // Too long for QEMU's monitor socket, if that were below it.
    files = new LibvirtdFiles(home.resolve("state-" + "x".repeat(60)), home.resolve("r"), false);
  }

  @AfterEach
  void leaveNothing() throws Exception {
    if (directory == null) {
      return;
    }
    for (long pid : PrivateLibvirtExtension.processesOf(directory)) {
      ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
    PrivateLibvirtExtension.delete(directory);
  }

  @Test
  void nobodyRunsADomainWithoutRootAndItsLibvirtdEndsAfterIt() throws Exception {
    Path xml = directory.resolve("d.xml");
    UUID uuid = UUID.randomUUID();
    Files.writeString(xml, PrivateLibvirtExtension.tinyDomain("a-name-longer-than-20-bytes", uuid));
    String classPath = directory.resolve("classes") + ":" + directory.resolve("test-classes");

    Tool child = asNobody(Child.command(classPath, files.state(), files.run(), 2, xml));
    assertThat(child.err()).isEmpty();
    assertThat(child.expect().lines()).containsExactly(files.uri(), "running (booted)");
    assertThat(virsh("list", "--uuid")).isEqualTo(uuid.toString());

    long pid = Long.parseLong(Files.readString(files.pid()).strip());
    assertThat(Files.getAttribute(Path.of("/proc/" + pid), "unix:uid")).isEqualTo(NOBODY);
    ProcessHandle libvirtd = ProcessHandle.of(pid).orElseThrow();
    virsh("destroy", uuid.toString());
    while (libvirtd.isAlive()
        && !Files.readString(Path.of("/proc/" + pid + "/stat")).contains(") Z ")) {
      Thread.sleep(50);
    }
    assertThat(files.socket()).doesNotExist();
  }

  private String virsh(String... arguments) {
    List<String> command = new ArrayList<>(List.of("virsh", "-q", "-c", files.uri()));
    command.addAll(List.of(arguments));
    return asNobody(command).expect().strip();
  }

  private Tool asNobody(List<String> command) {
    List<String> all = new ArrayList<>(List.of("setpriv", "--reuid=" + NOBODY));
    all.addAll(List.of("--regid=" + NOBODY, "--clear-groups", "env", "-i"));
    all.addAll(List.of("PATH=/usr/bin:/bin", "HOME=" + files.run().getParent()));
    all.addAll(command);
    return Tool.run(all);
  }
}
