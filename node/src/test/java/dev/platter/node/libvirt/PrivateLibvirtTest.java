package dev.platter.node.libvirt;

import static dev.platter.node.libvirt.PrivateLibvirtExtension.processesOf;
import static dev.platter.node.libvirt.PrivateLibvirtExtension.tinyDomain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class PrivateLibvirtTest {
  private static final int IDLE = 2;

  @RegisterExtension
  final PrivateLibvirtExtension node = new PrivateLibvirtExtension(Duration.ofSeconds(IDLE));

  @Test
  void killedLibvirtdIsReplacedAndTakesItsRunningDomainBack() throws Exception {
    UUID uuid = UUID.randomUUID();
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      libvirt.createXml(tinyDomain("survivor", uuid)).close();
    }
    ProcessHandle killed = node.libvirt().process().orElseThrow();
    ProcessHandle qemu = qemu(uuid);
    killed.destroyForcibly();
    killed.onExit().join();
    assertThat(qemu.isAlive()).isTrue();

    assertThat(node.virsh("domstate", "survivor")).isEqualTo("running");
    assertThat(node.libvirt().process().orElseThrow().pid()).isNotEqualTo(killed.pid());
    assertThat(qemu(uuid).pid()).isEqualTo(qemu.pid());
    try (Libvirt libvirt = Libvirt.open(node.uri());
        Domain domain = libvirt.domain(uuid).orElseThrow()) {
      domain.destroy();
    }
    assertThat(qemu.isAlive()).isFalse();
  }

  @Test
  void connectionToAKilledLibvirtdFailsAndKnowsThatItIsDead() throws Exception {
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      assertThat(libvirt.isAlive()).isTrue();
      ProcessHandle libvirtd = node.libvirt().process().orElseThrow();
      libvirtd.destroyForcibly();
      libvirtd.onExit().join();
      assertThatThrownBy(libvirt::version).isInstanceOf(LibvirtException.class);
      assertThat(libvirt.isAlive()).isFalse();
    }
  }

  @Test
  void stoppedLibvirtdLeavesItsDomainRunningAndTheNextOneKnowsIt() throws Exception {
    UUID uuid = UUID.randomUUID();
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      libvirt.createXml(tinyDomain("stays", uuid)).close();
    }
    ProcessHandle qemu = qemu(uuid);
    node.libvirt().stop();
    assertThat(processesOf(node.state())).isEmpty();
    assertThat(qemu.isAlive()).isTrue();
    assertThat(node.virsh("domstate", "stays")).isEqualTo("running");
  }

  @Test
  void staysWhileADomainRunsAndEndsByItselfAfterwards() throws Exception {
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      libvirt.createXml(tinyDomain("busy", UUID.randomUUID())).close();
    }
    ProcessHandle libvirtd = node.libvirt().process().orElseThrow();
    Thread.sleep(Duration.ofSeconds(3 * IDLE));
    assertThat(libvirtd.isAlive()).isTrue();

    node.virsh("destroy", "busy");
    libvirtd.onExit().get(30, TimeUnit.SECONDS);
    assertThat(node.files().socket()).doesNotExist();
    assertThat(node.files().pid()).doesNotExist();
  }

  @Test
  void staysWhileADomainRunsThatItTookBack() throws Exception {
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      libvirt.createXml(tinyDomain("busy", UUID.randomUUID())).close();
    }
    ProcessHandle killed = node.libvirt().process().orElseThrow();
    killed.destroyForcibly();
    killed.onExit().join();
    // It is not the new one's before QEMU has answered it, which takes longer on a busy machine.
    node.virsh("qemu-monitor-command", "busy", "--hmp", "info status");
    ProcessHandle libvirtd = node.libvirt().process().orElseThrow();
    Thread.sleep(Duration.ofSeconds(3 * IDLE));
    assertThat(libvirtd.isAlive()).isTrue();
  }

  @Test
  void domainThatDoesNotAnswerWhileLibvirtdComesAndGoesIsTakenBackInTheEnd() throws Exception {
    UUID uuid = UUID.randomUUID();
    try (Libvirt libvirt = Libvirt.open(node.uri())) {
      libvirt.createXml(tinyDomain("slow", uuid)).close();
    }
    ProcessHandle qemu = qemu(uuid);
    ProcessHandle killed = node.libvirt().process().orElseThrow();
    killed.destroyForcibly();
    killed.onExit().join();
    Tool.run(List.of("kill", "-STOP", Long.toString(qemu.pid()))).expect();
    try {
      node.uri();
      ProcessHandle second = node.libvirt().process().orElseThrow();
      second.onExit().get(30, TimeUnit.SECONDS); // Nobody is connected, and no domain is its own.
    } finally {
      Tool.run(List.of("kill", "-CONT", Long.toString(qemu.pid()))).expect();
    }
    assertThat(node.virsh("qemu-monitor-command", "slow", "--hmp", "info status"))
        .contains("running");
    assertThat(qemu(uuid).pid()).isEqualTo(qemu.pid());
  }

  @Test
  void startsAgainRightAfterItEndedByItself() throws Exception {
    node.uri();
    ProcessHandle first = node.libvirt().process().orElseThrow();
    while (first.isAlive()) {
      Thread.sleep(1);
    }
    assertThat(node.virsh("list")).isEmpty();
  }

  @Test
  void manyProcessesAtOnceStartOne() throws Exception {
    List<String> child = Child.command(classPath(), node.state(), node.run(), 30);
    startTogether(() -> Tool.run(child).expect().strip());
  }

  @Test
  void processWaitsForAnotherThatIsStartingLibvirtd() throws Exception {
    node.files().prepareRun();
    List<String> child = Child.command(classPath(), node.state(), node.run(), 30);
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      Future<Tool> waiting;
      try (StartLock _ =
          StartLock.acquire(node.files().lock(), Deadline.in(Duration.ofSeconds(10)))) {
        waiting = threads.submit(() -> Tool.run(child));
        Thread.sleep(Duration.ofSeconds(3));
        assertThat(processesOf(node.files().libvirtdConf())).isEmpty();
        assertThat(waiting.isDone()).isFalse();
      }
      assertThat(waiting.get().expect().strip()).isEqualTo(node.files().uri());
    }
  }

  @Test
  void manyThreadsAtOnceStartOne() throws Exception {
    startTogether(() -> new PrivateLibvirt(node.state(), node.run()).ensureRunning());
  }

  private void startTogether(Callable<String> starter) throws Exception {
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      for (Future<String> uri : threads.invokeAll(Collections.nCopies(4, starter))) {
        assertThat(uri.get()).isEqualTo(node.files().uri());
      }
    }
    assertThat(processesOf(node.files().libvirtdConf())).hasSize(1);
    assertThat(node.files().log().resolveSibling("libvirtd.log.1"))
        .as("the log of an earlier start")
        .doesNotExist();
  }

  @Test
  void outlivesTheProcessThatStartedIt() throws Exception {
    Tool.run(Child.command(classPath(), node.state(), node.run(), 30)).expect();
    long pid = node.libvirt().process().orElseThrow().pid();
    assertThat(node.virsh("list")).isEmpty();
    assertThat(node.libvirt().process().orElseThrow().pid()).isEqualTo(pid);
  }

  @Test
  void errorsOfLibvirtAreNotPrintedOnStderr() throws Exception {
    Path bad =
        Files.writeString(
            node.directory().resolve("bad.xml"), "<domain type='nosuch'><name>x</name></domain>");
    Tool child = Tool.run(Child.command(classPath(), node.state(), node.run(), 30, bad));
    assertThat(child.out()).contains("nosuch");
    assertThat(child.err()).isEmpty();
  }

  @Test
  void qemuIsProbedOnceNotAtEachStart() throws Exception {
    try (Libvirt libvirt = Libvirt.open(node.uri());
        Domain domain = libvirt.createXml(tinyDomain("first", UUID.randomUUID()))) {
      domain.destroy();
    }
    Map<String, Object> probed = modified(node.capabilities());
    assertThat(probed).isNotEmpty();
    node.libvirt().stop();
    try (Libvirt libvirt = Libvirt.open(node.uri());
        Domain domain = libvirt.createXml(tinyDomain("second", UUID.randomUUID()))) {
      domain.destroy();
    }
    assertThat(modified(node.capabilities())).isEqualTo(probed);
  }

  @Test
  void directoriesAndSocketsAreOursAlone() throws Exception {
    node.uri();
    for (Path path :
        List.of(node.state(), node.run(), node.files().configuration(), node.files().socket())) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
          .as(path.toString())
          .isEqualTo("rwx------");
    }
  }

  /** Needs a shared mount: this machine's may be private, so one is made. */
  @Test
  void volumeMountedAfterTheStartIsSeenByLibvirtdAndLetGo() throws Exception {
    assumeTrue(node.files().system(), "mounting needs root");
    Path shared = Files.createDirectory(node.directory().resolve("pods"));
    mount("--bind", shared.toString(), shared.toString());
    try {
      mount("--make-shared", shared.toString());
      node.uri();
      Path mounts = Path.of("/proc/" + node.libvirt().process().orElseThrow().pid() + "/mountinfo");
      Path volume = Files.createDirectory(shared.resolve("volume"));
      assertThat(Files.readString(mounts)).doesNotContain(volume.toString());
      mount("-t", "tmpfs", "none", volume.toString());
      try {
        assertThat(Files.readString(mounts)).contains(volume.toString());
      } finally {
        Tool.run(List.of("umount", volume.toString())).expect();
      }
      assertThat(Files.readString(mounts)).doesNotContain(volume.toString());
    } finally {
      Tool.run(List.of("umount", shared.toString())).expect();
    }
  }

  @Test
  void mountsOfLibvirtdStayItsOwnEvenWhereAllMountsAreShared() throws Exception {
    assumeTrue(node.files().system(), "mounting needs root");
    List<String> command = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c"));
    command.add("mount --make-rshared / && \"$@\" && exec cat /proc/self/mountinfo");
    command.add("sh");
    command.addAll(Child.command(classPath(), node.state(), node.run(), 30));
    String outside = Tool.run(command).expect();
    String inside =
        Files.readString(
            Path.of("/proc/" + node.libvirt().process().orElseThrow().pid() + "/mountinfo"));
    assertThat(inside).contains(" /var/lib/libvirt ");
    assertThat(outside)
        .contains("shared:")
        .doesNotContain("/libvirt ")
        .doesNotContain("/etc/passwd");
  }

  @Test
  void processOfAnotherIsNotStoppedThoughThePidFileNamesIt() throws Exception {
    Files.createDirectories(node.run());
    Process foreign = new ProcessBuilder("sleep", "60").start();
    try {
      Files.writeString(node.files().pid(), Long.toString(foreign.pid()));
      node.libvirt().stop();
      assertThat(foreign.isAlive()).isTrue();
      assertThat(node.virsh("list")).isEmpty();
    } finally {
      foreign.destroyForcibly();
    }
  }

  @Test
  void libvirtdThatCannotStartIsReportedWithItsLastWords() throws Exception {
    Path broken = script("#!/bin/sh\necho the disk is on fire >&2\nexit 3\n");
    PrivateLibvirt libvirt =
        new PrivateLibvirt(node.files(), broken, Duration.ofSeconds(IDLE), Duration.ofSeconds(20));
    assertThatThrownBy(libvirt::ensureRunning)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ended while it was starting")
        .hasMessageContaining("the disk is on fire");
  }

  @Test
  void libvirtdThatNeverAnswersIsGivenUpAndEnded() throws Exception {
    Path hung = script("#!/bin/sh\necho waiting for Godot\nexec sleep 60\n");
    PrivateLibvirt libvirt =
        new PrivateLibvirt(node.files(), hung, Duration.ofSeconds(IDLE), Duration.ofSeconds(1));
    assertThatThrownBy(libvirt::ensureRunning)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("did not answer within 1 s")
        .hasMessageContaining("Godot");
  }

  @Test
  void runDirectoryTooDeepForASocketIsRefused() {
    Path deep = node.directory().resolve("d".repeat(90));
    assertThatThrownBy(() -> new PrivateLibvirt(node.state(), deep).ensureRunning())
        .isInstanceOf(IOException.class)
        .hasMessageContaining("too long")
        .hasMessageContaining("107");
  }

  @Test
  void blanksInThePathDoNoHarm() throws Exception {
    Path spaced = node.directory().resolve("a b%&c");
    PrivateLibvirt libvirt = new PrivateLibvirt(spaced.resolve("s"), spaced.resolve("r"));
    String uri = libvirt.ensureRunning();
    try {
      assertThat(Tool.run(List.of("virsh", "-q", "-c", uri, "list")).expect()).isBlank();
    } finally {
      libvirt.stop();
    }
  }

  private static ProcessHandle qemu(UUID uuid) {
    return ProcessHandle.allProcesses()
        .filter(p -> commandLine(p).contains("\0" + uuid + "\0"))
        .findAny()
        .orElseThrow();
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc/" + process.pid() + "/cmdline"));
    } catch (IOException ended) {
      return "";
    }
  }

  private static Map<String, Object> modified(Path directory) throws IOException {
    Map<String, Object> times = new TreeMap<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        times.put(file.getFileName().toString(), Files.getLastModifiedTime(file));
      }
    }
    return times;
  }

  private Path script(String text) throws IOException {
    Path script = Files.writeString(node.directory().resolve("fake-libvirtd"), text);
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    return script;
  }

  private static void mount(String... arguments) {
    List<String> command = new ArrayList<>(List.of("mount"));
    command.addAll(List.of(arguments));
    Tool.run(command).expect();
  }

  private static String classPath() {
    return System.getProperty("java.class.path");
  }
}
