package dev.platter.cluster.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.StateLayout;
import io.fabric8.kubernetes.api.model.ContainerPort;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * The network of a pod's guest is the pod's: passt, a process in the pod's network namespace, takes
 * the guest's frames from QEMU and speaks for it with sockets of its own. So the guest has the
 * pod's addresses, and what holds for the pod (Services, policies, accounting) holds for the guest.
 * QEMU itself stays in the node's network, where its storage is.
 *
 * <p>QEMU listens and passt is given a connection to it, not the other way round: passt ends when
 * QEMU does, so there never is one without a VM, and in place of one that has died another can be
 * connected while the guest runs.
 *
 * <p>passt gives its rights away when it starts: it is nobody, in namespaces of its own but for the
 * network's, with a filter of system calls. Like QEMU it is moved into the launcher's cgroups.
 */
final class PodNetwork {
  /**
   * Connects to a socket, and leaves behind the program that is to have the connection, whose
   * number it says. A child of ours would cost a thread that waits for its end.
   */
  private static final String CONNECT =
      """
      $^F = 255;
      $SIG{ALRM} = sub { die "QEMU does not answer\\n" };
      alarm 10;
      socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un(shift)) or die "QEMU: $!\\n";
      alarm 0;
      defined($pid = fork) or die "fork: $!\\n";
      if ($pid) { print $pid; exit }
      open(STDOUT, ">&", STDERR);
      exec(@ARGV, "--fd", fileno(S)) or die "$ARGV[0]: $!\\n";
      """;

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration POLL = Duration.ofMillis(5);
  private static final int LONGEST_FILE = 64 * 1024;

  private final StateLayout layout;

  PodNetwork(StateLayout layout) {
    this.layout = layout;
  }

  /** Whether there is a guest that waits for its network: its process has died. */
  boolean isLost(UUID vm) throws IOException {
    return Files.exists(layout.networkSocket(vm)) && process(vm).isEmpty();
  }

  /** The number alone may be another's by now. */
  private OptionalLong process(UUID vm) throws IOException {
    var file = layout.networkPid(vm);
    var pid = read(file).strip();
    var is = !pid.isEmpty() && command(pid).contains("\0" + file + "\0");
    return is ? OptionalLong.of(Long.parseLong(pid)) : OptionalLong.empty();
  }

  private static String command(String pid) throws IOException {
    return read(Path.of("/proc", pid, "cmdline"));
  }

  /** Gives the guest the network of its pod, in place of what it had. */
  void connect(UUID vm, PodCgroup pod, List<ContainerPort> ports) throws IOException {
    end(vm);
    var launcher = Path.of("/proc", Long.toString(pod.launcher()));
    var namespace = namespace(launcher);
    if (namespace.equals(namespace(Path.of("/proc/self")))) {
      throw PlatterException.of(
          Code.REFUSED, "the pod of the VM has the node's own network", "Take hostNetwork away.");
    }
    Files.deleteIfExists(layout.networkPid(vm));
    var resolver = read(launcher.resolve("root/etc/resolv.conf"));
    var words =
        new ArrayList<>(
            List.of("nsenter", "--net=" + launcher.resolve("ns/net"), "perl", "-MSocket", "-e"));
    words.addAll(List.of(CONNECT, layout.networkSocket(vm).toString()));
    words.addAll(PasstCommand.of(ports, resolver, layout.networkPid(vm), layout.networkLog(vm)));
    var output = layout.networkOutput(vm);
    var passt = start(words, output);
    var connected = false;
    try {
      pod.move(passt.pid());
      awaitReady(vm, passt, output);
      // A launcher that ends leaves its number to others.
      if (!namespace(Path.of("/proc", Long.toString(passt.pid()))).equals(namespace)) {
        throw failed("the launcher has ended");
      }
      connected = true;
    } finally {
      if (!connected) {
        passt.destroyForcibly();
      }
    }
  }

  private static ProcessHandle start(List<String> words, Path output) throws IOException {
    var process =
        new ProcessBuilder(words)
            .redirectInput(new File("/dev/null"))
            .redirectError(output.toFile())
            .start();
    try (var out = process.getInputStream()) {
      var pid = new String(out.readAllBytes(), StandardCharsets.US_ASCII);
      var passt = pid.isEmpty() ? null : ProcessHandle.of(Long.parseLong(pid)).orElse(null);
      if (passt == null) {
        throw failed(lastLine(output));
      }
      return passt;
    }
  }

  private static Path namespace(Path process) throws IOException {
    return Files.readSymbolicLink(process.resolve("ns/net"));
  }

  private void awaitReady(UUID vm, ProcessHandle passt, Path output) throws IOException {
    await(
        "passt does not get ready",
        () -> {
          var ready = process(vm).isPresent();
          // Nothing is left of its command when it has ended, also if nobody has waited for that.
          if (!ready && command(Long.toString(passt.pid())).isEmpty()) {
            throw failed(lastLine(output));
          }
          return ready;
        });
  }

  /** One of an earlier start may still have the pod's ports. */
  private void end(UUID vm) throws IOException {
    var process = process(vm);
    if (process.isPresent()) {
      ProcessHandle.of(process.getAsLong()).ifPresent(ProcessHandle::destroyForcibly);
      await("passt does not end", () -> process(vm).isEmpty());
    }
  }

  private interface Look {
    boolean isSo() throws IOException;
  }

  private static void await(String otherwise, Look look) throws IOException {
    var until = System.nanoTime() + PATIENCE.toNanos();
    try {
      while (!look.isSo()) {
        if (System.nanoTime() > until) {
          throw failed(otherwise);
        }
        Thread.sleep(POLL);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failed("interrupted");
    }
  }

  private static String lastLine(Path output) throws IOException {
    return read(output).lines().reduce("", (_, last) -> last);
  }

  private static PlatterException failed(String why) {
    return PlatterException.of(
        Code.UNAVAILABLE, "the VM cannot be given the network of its pod: " + why, "");
  }

  /** What a small file holds; nothing if it, or the process that it is about, is gone. */
  private static String read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return new String(in.readNBytes(LONGEST_FILE), StandardCharsets.UTF_8);
    } catch (IOException e) {
      if (Files.notExists(file)) {
        return "";
      }
      throw e;
    }
  }
}
