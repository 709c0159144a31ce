package dev.platter.node.libvirt;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A private libvirt in a directory of its own: for the whole class as a static field, for each test
 * as an instance field. It starts when {@link #uri} is first asked for, and at the end ends its
 * domains and checks that no process, mount or file is left. Capabilities of QEMU are probed once
 * for all (seconds) and copied into each.
 */
public final class PrivateLibvirtExtension
    implements BeforeAllCallback, AfterAllCallback, BeforeEachCallback, AfterEachCallback {
  private static final Path CACHE = Path.of("target", "libvirt-cache").toAbsolutePath();

  private final Duration idle;
  private boolean forTheClass;
  private Path directory;
  private PrivateLibvirt libvirt;

  /** Tests ask for its address once, and on a busy machine need it much later. */
  public PrivateLibvirtExtension() {
    this(Duration.ofMinutes(10));
  }

  PrivateLibvirtExtension(Duration idle) {
    this.idle = idle;
  }

  PrivateLibvirt libvirt() {
    return libvirt;
  }

  /** All of it: configuration, logs, sockets. */
  public Path directory() {
    return directory;
  }

  Path state() {
    return directory.resolve("state");
  }

  /** Where domains find the CA of NBD servers. */
  public Path nbdCertificates() {
    return files().nbdCertificates();
  }

  Path run() {
    return directory.resolve("run");
  }

  /** Exists once a domain has been started. */
  Path capabilities() {
    return state()
        .resolve(files().system() ? "cache" : "cache/libvirt")
        .resolve("qemu/capabilities");
  }

  LibvirtdFiles files() {
    return LibvirtdFiles.of(state(), run());
  }

  public String uri() {
    try {
      return libvirt.ensureRunning();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** What virsh prints, without the empty line at its end. */
  String virsh(String... arguments) {
    return tryVirsh(arguments).expect().strip();
  }

  Tool tryVirsh(String... arguments) {
    List<String> command = new ArrayList<>(List.of("virsh", "-q", "-c", uri()));
    command.addAll(List.of(arguments));
    return Tool.run(command);
  }

  /** A guest without a disk: 32 MiB, the firmware finds nothing to boot. */
  static String tinyDomain(String name, UUID uuid) {
    return """
        <domain type='qemu'>
          <name>%s</name><uuid>%s</uuid><memory unit='MiB'>32</memory><vcpu>1</vcpu>
          <os><type arch='x86_64' machine='pc'>hvm</type></os>
          <features><acpi/></features>
          <devices>
            <emulator>/usr/bin/qemu-system-x86_64</emulator>
            <controller type='usb' model='none'/>
            <memballoon model='none'/>
          </devices>
        </domain>
        """
        .formatted(name, uuid);
  }

  Path tinyDomainFile(String name, UUID uuid) throws IOException {
    return Files.writeString(directory.resolve(name + ".xml"), tinyDomain(name, uuid));
  }

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    forTheClass = true;
    open();
  }

  @Override
  public void beforeEach(ExtensionContext context) throws IOException {
    if (!forTheClass) {
      open();
    }
  }

  @Override
  public void afterEach(ExtensionContext context) throws IOException {
    if (context.getExecutionException().isPresent()) {
      printLogs();
    }
    if (forTheClass) {
      destroyDomains();
    } else {
      close();
    }
  }

  @Override
  public void afterAll(ExtensionContext context) throws IOException {
    if (forTheClass) {
      close();
    }
  }

  private void open() throws IOException {
    directory = Files.createTempDirectory("lv");
    libvirt = new PrivateLibvirt(state(), run(), idle);
    if (Files.exists(CACHE)) {
      copy(CACHE, state().resolve("cache"));
    }
  }

  private void close() throws IOException {
    destroyDomains();
    libvirt.stop();
    assertThat(processesOf(directory)).as("processes left").isEmpty();
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(directory + "");
    if (Files.exists(capabilities()) && !Files.exists(CACHE)) {
      shareCache();
    }
    delete(directory);
  }

  /** What libvirtd and QEMU had to say, which is gone when the directory is. */
  private void printLogs() throws IOException {
    if (!Files.isDirectory(files().log().getParent())) {
      return;
    }
    try (Stream<Path> logs = Files.walk(files().log().getParent())) {
      for (Path log : logs.filter(Files::isRegularFile).toList()) {
        System.err.printf("---- %s%n%s%n", log, Files.readString(log));
      }
    }
  }

  /** Appears by rename, since another class may look for it at the same time. */
  private void shareCache() throws IOException {
    Path fresh = CACHE.resolveSibling("libvirt-cache-" + UUID.randomUUID());
    copy(state().resolve("cache"), fresh);
    try {
      Files.move(fresh, CACHE, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException lostTheRace) {
      delete(fresh);
    }
  }

  private void destroyDomains() {
    if (Files.exists(files().log())) {
      virsh("list", "--uuid").lines().filter(l -> !l.isBlank()).forEach(u -> virsh("destroy", u));
    }
  }

  /** The ids of all processes that have the path in an argument. */
  public static List<Long> processesOf(Path path) throws IOException {
    List<Long> pids = new ArrayList<>();
    try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
      for (Path process :
          processes.filter(p -> p.getFileName().toString().matches("\\d+")).toList()) {
        try {
          if (Files.readString(process.resolve("cmdline")).contains(path.toString())) {
            pids.add(Long.parseLong(process.getFileName().toString()));
          }
        } catch (IOException ended) {
          continue;
        }
      }
    }
    return pids;
  }

  static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to.getParent());
    Tool.run(List.of("cp", "-a", from.toString(), to.toString())).expect();
  }

  static void delete(Path tree) throws IOException {
    try (Stream<Path> files = Files.walk(tree)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
