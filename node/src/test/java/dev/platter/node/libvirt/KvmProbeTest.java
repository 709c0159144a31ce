package dev.platter.node.libvirt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KvmProbeTest {
  private static final Path QEMU = Path.of("/usr/bin/qemu-system-x86_64");

  @TempDir Path directory;

  @Test
  void romRunsToItsEndUnderTcg() throws IOException {
    assertThat(new KvmProbe(QEMU, directory.resolve("memo")).runs("tcg")).isTrue();
    assertThat(directory).isEmptyDirectory();
  }

  @Test
  void acceleratorThatDoesNotExistDoesNotWork() throws IOException {
    assertThat(new KvmProbe(QEMU, directory.resolve("memo")).runs("xen")).isFalse();
  }

  @Test
  void answerIsRememberedUntilQemuChanges() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/kvm")), "no /dev/kvm");
    Path qemu =
        script("echo run >>" + directory.resolve("runs") + "\nexit " + KvmProbe.EXIT_STATUS);
    KvmProbe probe = new KvmProbe(qemu, directory.resolve("memo"));
    assertThat(probe.works()).isTrue();
    assertThat(probe.works()).isTrue();
    assertThat(directory.resolve("runs")).hasContent("run");
    script("echo again >>" + directory.resolve("runs") + "\nexit 1");
    assertThat(probe.works()).isFalse();
    assertThat(probe.works()).isFalse();
    assertThat(directory.resolve("runs")).hasContent("run\nagain");
  }

  @Test
  void answerIsTheSameForEveryStateDirectory() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/kvm")), "no /dev/kvm");
    Path qemu =
        script("echo run >>" + directory.resolve("runs") + "\nexit " + KvmProbe.EXIT_STATUS);
    assertThat(new KvmProbe(qemu, directory.resolve("memo")).works()).isTrue();
    assertThat(new KvmProbe(qemu, directory.resolve("other")).works()).isTrue();
    assertThat(directory.resolve("runs")).hasContent("run");
    assertThat(directory.resolve("other")).hasSameTextualContentAs(directory.resolve("memo"));
  }

  @Test
  void guestThatHangsIsKilled() throws IOException {
    assertEnds("sleep 600", Duration.ofSeconds(1));
  }

  @Test
  void guestThatOnlyUsesTheProcessorIsKilledBefore() throws IOException {
    assertEnds("sh -c 'while :; do :; done'", Duration.ofMinutes(10));
  }

  private void assertEnds(String guest, Duration limit) throws IOException {
    Path qemu = script("echo $$ >" + directory.resolve("pid") + "\nexec " + guest);
    long start = System.nanoTime();
    assertThat(new KvmProbe(qemu, directory.resolve("memo")).runs("kvm", limit)).isFalse();
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMinutes(5));
    long pid = Long.parseLong(Files.readString(directory.resolve("pid")).strip());
    assertThat(ProcessHandle.of(pid)).isEmpty();
  }

  private Path script(String text) throws IOException {
    Path script = Files.writeString(directory.resolve("qemu"), "#!/bin/sh\n" + text + "\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    return script;
  }
}
