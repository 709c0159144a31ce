package dev.platter.node.libvirt;

import static dev.platter.node.libvirt.PrivateLibvirtExtension.tinyDomain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.node.libvirt.Libvirt.Start;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("counts what this process holds of libvirt")
class LibvirtTest {
  @RegisterExtension static final PrivateLibvirtExtension NODE = new PrivateLibvirtExtension();

  private Libvirt libvirt;

  @BeforeEach
  void connect() {
    libvirt = Libvirt.open(NODE.uri());
  }

  @AfterEach
  void disconnect() {
    libvirt.close();
  }

  @Test
  void versionIsTheOneVirshSees() {
    Libvirt.Version v = libvirt.version();
    assertThat(NODE.virsh("version", "--daemon"))
        .contains("daemon: " + v.major() + "." + v.minor() + "." + v.release());
  }

  @Test
  void createdDomainIsTheOneVirshShows() {
    UUID uuid = UUID.randomUUID();
    try (Domain domain = libvirt.createXml(tinyDomain("shown", uuid), Start.PAUSED)) {
      assertThat(NODE.virsh("domuuid", "shown")).isEqualTo(uuid.toString());
      assertThat(domain.uuid()).isEqualTo(uuid);
      assertThat(domain.name()).isEqualTo("shown");
      assertThat(domain.xml().strip()).isEqualTo(NODE.virsh("dumpxml", "shown"));
      assertThat(NODE.virsh("dominfo", "shown")).containsPattern("Persistent: +no");
      domain.destroy();
    }
  }

  @Test
  void stateAndReasonAreInTheWordsOfVirsh() {
    try (Domain domain = libvirt.createXml(tinyDomain("states", UUID.randomUUID()), Start.PAUSED)) {
      List<String> states = new ArrayList<>();
      record(states, domain);
      domain.resume();
      record(states, domain);
      domain.suspend();
      record(states, domain);
      assertThat(states).containsExactly("paused (user)", "running (unpaused)", "paused (user)");
      domain.destroy();
    }
    try (Domain domain = libvirt.createXml(tinyDomain("states", UUID.randomUUID()))) {
      assertThat(domain.state()).hasToString("running (booted)");
      domain.destroy();
    }
  }

  private static void record(List<String> states, Domain domain) {
    assertThat(domain.state()).hasToString(NODE.virsh("domstate", domain.name(), "--reason"));
    states.add(domain.state().toString());
  }

  @Test
  void destroyedDomainIsGoneForBoth() {
    UUID uuid = UUID.randomUUID();
    try (Domain domain = libvirt.createXml(tinyDomain("gone", uuid))) {
      assertThat(domain.isActive()).isTrue();
      domain.destroy();
      assertThat(domain.isActive()).isFalse();
      assertThatThrownBy(domain::state)
          .isInstanceOfSatisfying(
              LibvirtException.class,
              e -> assertThat(e.code()).isEqualTo(LibvirtException.NO_DOMAIN));
    }
    assertThat(libvirt.domain(uuid)).isEmpty();
    assertThat(NODE.tryVirsh("domstate", uuid.toString()).status()).isNotZero();
  }

  @Test
  void foreignDomainIsListedAndLeftAlone() throws IOException {
    UUID foreign = UUID.randomUUID();
    NODE.virsh("create", NODE.tinyDomainFile("foreign", foreign).toString());
    String id = NODE.virsh("domid", "foreign");
    try (Domain ours = libvirt.createXml(tinyDomain("ours", UUID.randomUUID()))) {
      assertThat(libvirt.domains())
          .extracting(l -> l.name() + " " + l.uuid() + " " + l.state())
          .containsExactlyInAnyOrder(
              "foreign " + foreign + " " + NODE.virsh("domstate", "foreign", "--reason"),
              "ours " + ours.uuid() + " " + NODE.virsh("domstate", "ours", "--reason"));
      ours.destroy();
    }
    assertThat(NODE.virsh("list", "--uuid")).isEqualTo(foreign.toString());
    assertThat(NODE.virsh("domid", "foreign")).isEqualTo(id);
    NODE.virsh("destroy", "foreign");
    assertThat(libvirt.domains()).isEmpty();
  }

  @Test
  void domainThatOthersStartedIsFoundByItsUuid() throws IOException {
    UUID uuid = UUID.randomUUID();
    NODE.virsh("create", NODE.tinyDomainFile("theirs", uuid).toString());
    try (Domain found = libvirt.domain(uuid).orElseThrow()) {
      assertThat(found.name()).isEqualTo("theirs");
    }
    NODE.virsh("destroy", "theirs");
  }

  @Test
  void shutdownPressesThePowerButton() throws Exception {
    try (Domain domain = libvirt.createXml(tinyDomain("button", UUID.randomUUID()))) {
      Path seen = NODE.directory().resolve("events");
      Process listener =
          new ProcessBuilder(
                  "virsh",
                  "-q",
                  "-c",
                  NODE.uri(),
                  "qemu-monitor-event",
                  "button",
                  "--event",
                  "POWERDOWN",
                  "--timeout",
                  "30")
              .redirectOutput(seen.toFile())
              .redirectErrorStream(true)
              .start();
      try {
        // The listener says nothing when it is ready, so press until it has heard.
        while (listener.isAlive()) {
          domain.shutdown();
          listener.waitFor(200, TimeUnit.MILLISECONDS);
        }
        assertThat(Files.readString(seen)).contains("POWERDOWN");
      } finally {
        listener.destroyForcibly();
        domain.destroy();
      }
    }
  }

  @Test
  void errorIsTheOneVirshGets() throws IOException {
    String xml = "<domain type='nosuch'><name>x</name></domain>";
    LibvirtException e = catchThrowableOfType(LibvirtException.class, () -> libvirt.createXml(xml));
    Path file = Files.writeString(NODE.directory().resolve("bad.xml"), xml);
    assertThat(NODE.tryVirsh("create", file.toString()).err()).contains(e.getMessage());
    assertThat(e.code()).as("VIR_ERR_CONFIG_UNSUPPORTED").isEqualTo(67);
    assertThat(e.domain()).as("VIR_FROM_DOMAIN").isEqualTo(20);
  }

  @Test
  void eachVirtualThreadGetsItsOwnError() throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<String>> errors = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        String xml = "<domain type='nosuch-" + i + "-'><name>x</name></domain>";
        errors.add(
            threads.submit(
                () ->
                    catchThrowableOfType(LibvirtException.class, () -> libvirt.createXml(xml))
                        .getMessage()));
      }
      for (int i = 0; i < errors.size(); i++) {
        assertThat(errors.get(i).get()).contains("nosuch-" + i + "-");
      }
    }
  }

  @Test
  void closedDomainRefusesEveryCall() {
    UUID uuid = UUID.randomUUID();
    Domain domain = libvirt.createXml(tinyDomain("closed", uuid), Start.PAUSED);
    domain.close();
    domain.close();
    assertThatThrownBy(domain::state).isInstanceOf(IllegalStateException.class);
    assertThat(NODE.virsh("domstate", "closed")).isEqualTo("paused");
    NODE.virsh("destroy", "closed");
  }

  /** libvirt closes the socket only when the last reference to any of its objects is given back. */
  @Test
  void everyReferenceIsGivenBack() throws IOException {
    UUID uuid = UUID.randomUUID();
    long before = sockets();
    try (Libvirt other = Libvirt.open(NODE.uri())) {
      assertThat(sockets()).isGreaterThan(before);
      try (Domain domain = other.createXml(tinyDomain("counted", uuid), Start.PAUSED)) {
        other.domain(uuid).orElseThrow().close();
        assertThat(other.domains()).hasSize(1);
        domain.destroy();
      }
      assertThat(other.domain(uuid)).isEmpty();
    }
    assertThat(sockets()).isEqualTo(before);
  }

  private static long sockets() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.filter(
              fd -> {
                try {
                  return Files.readSymbolicLink(fd).toString().startsWith("socket:");
                } catch (IOException closedMeanwhile) {
                  return false;
                }
              })
          .count();
    }
  }

  @Test
  void missingLibraryIsReportedWithItsPackage() {
    assertThatThrownBy(() -> LibvirtLibrary.load("libvirt-none.so.0"))
        .isInstanceOf(LibvirtException.class)
        .hasMessageContaining("libvirt-none.so.0")
        .hasMessageContaining("libvirt0");
  }

  @Test
  void nobodyListeningIsAnErrorThatNamesTheSocket() {
    assertThatThrownBy(() -> Libvirt.open("qemu+unix:///system?socket=/nonexistent/sock"))
        .isInstanceOf(LibvirtException.class)
        .hasMessageContaining("/nonexistent/sock");
  }
}
