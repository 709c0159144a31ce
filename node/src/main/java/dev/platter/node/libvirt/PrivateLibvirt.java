package dev.platter.node.libvirt;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Platter's own libvirtd, next to and independent of one that the machine may have.
 *
 * <p>It is started when first needed, by whichever process needs it, outlives that process, and
 * ends by itself when no domain runs and no client has been connected for the idle time. It is
 * never part of a domain's life: QEMU goes on when libvirtd is stopped or killed, and the next one
 * takes its domains back. One whose QEMU does not answer yet does not count as running, so on a
 * busy machine the next one may end by itself before it has a domain back; then the one after it
 * takes it.
 *
 * <p>For root it is a system-mode libvirtd in a mount namespace that is a <em>slave</em> of ours:
 * QEMU inherits that namespace, and must see volumes that are mounted after the start (and let go
 * of those unmounted), which works where those mounts are shared, as systemd and kubelet make them.
 * For other users it is a session-mode libvirtd with its XDG directories moved.
 *
 * <p>The first domain ever waits some seconds while libvirt asks QEMU what it can do; the answers
 * are kept in the state directory.
 *
 * <p>QEMU's parent is process 1, and libvirt's destroy waits until that has reaped it: in a
 * container, process 1 must be one that reaps.
 *
 * <p>Left out: QEMU under a user of its own (it runs as ours), and limits on the logs of single
 * domains, which libvirt writes below the state directory.
 */
public final class PrivateLibvirt {
  private static final Duration IDLE = Duration.ofSeconds(30);

  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private static final Duration STOP_LIMIT = Duration.ofSeconds(15);
  private static final Duration POLL = Duration.ofMillis(20);

  /** A second start is for the case that the first met the last one's end. */
  private static final int MAX_STARTS = 2;

  private static final int LOG_LINES = 12;
  private static final int LOG_BYTES = 16 << 10;

  private final LibvirtdFiles files;
  private final Path libvirtd;
  private final Duration idle;
  private final Duration startLimit;

  public PrivateLibvirt(Path stateDir, Path runDir) {
    this(stateDir, runDir, IDLE);
  }

  /** With another idle time, in whole seconds and at least one. */
  public PrivateLibvirt(Path stateDir, Path runDir, Duration idle) {
    this(LibvirtdFiles.of(stateDir, runDir), Path.of("/usr/sbin/libvirtd"), idle, START_LIMIT);
  }

  PrivateLibvirt(LibvirtdFiles files, Path libvirtd, Duration idle, Duration startLimit) {
    if (idle.toSeconds() < 1) {
      throw new IllegalArgumentException("idle time below one second: " + idle);
    }
    this.files = files;
    this.libvirtd = libvirtd;
    this.idle = idle;
    this.startLimit = startLimit;
  }

  /**
   * Returns the URI of a libvirtd that has just answered; it then stays for at least the idle time,
   * so connect before that.
   */
  public String ensureRunning() throws IOException {
    Deadline deadline = Deadline.in(startLimit);
    if (answers(deadline)) {
      return files.uri();
    }
    files.prepareRun();
    try (StartLock _ = StartLock.acquire(files.lock(), deadline)) {
      return startUnlessRunning(deadline);
    }
  }

  private String startUnlessRunning(Deadline deadline) throws IOException {
    Process started = null;
    int starts = 0;
    while (!answers(deadline)) {
      if (deadline.passed()) {
        if (started != null) {
          started.destroy();
        }
        throw failure("did not answer within " + startLimit.toSeconds() + " s");
      }
      boolean coming = started != null && started.isAlive();
      // Ours and not answering: still starting, or on its way out. Two at once cannot be.
      if (!coming && process().isEmpty()) {
        if (starts++ == MAX_STARTS) {
          throw failure("ended while it was starting");
        }
        started = start();
      }
      deadline.pause(POLL);
    }
    return files.uri();
  }

  /** Stops libvirtd, if one of ours runs. Domains go on without it. */
  public void stop() throws IOException {
    if (!Files.isDirectory(files.run())) {
      return;
    }
    Deadline deadline = Deadline.in(STOP_LIMIT);
    try (StartLock _ = StartLock.acquire(files.lock(), deadline)) {
      Optional<ProcessHandle> ours = process();
      if (ours.isEmpty()) {
        return;
      }
      ours.get().destroy();
      // The process, not its pid file: libvirtd removes the file before it ends.
      while (isOurs(ours.get().pid())) {
        if (deadline.passed()) {
          throw failure("(pid " + ours.get().pid() + ") does not stop");
        }
        deadline.pause(POLL);
      }
    }
  }

  /** Our libvirtd's process: the one the pid file names, if it really was started by us. */
  Optional<ProcessHandle> process() throws IOException {
    try {
      long pid = Long.parseLong(Files.readString(files.pid()).strip());
      return isOurs(pid) ? ProcessHandle.of(pid) : Optional.empty();
    } catch (NoSuchFileException | NumberFormatException e) {
      return Optional.empty();
    }
  }

  private boolean isOurs(long pid) {
    try {
      byte[] line = Files.readAllBytes(Path.of("/proc", Long.toString(pid), "cmdline"));
      List<String> arguments = Arrays.asList(new String(line, UTF_8).split("\0"));
      return arguments.contains(files.libvirtdConf().toString());
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  private Process start() throws IOException {
    files.prepare();
    List<String> command = new ArrayList<>(List.of("setsid"));
    if (files.system()) {
      command.addAll(List.of("unshare", "--mount", "--propagation", "slave"));
      command.addAll(List.of("sh", "-c", script(), "libvirtd-system"));
      command.addAll(List.of(files.state().toString(), files.run().toString()));
    }
    command.addAll(
        List.of(
            libvirtd.toString(),
            "--config",
            files.libvirtdConf().toString(),
            "--pid-file",
            files.pid().toString(),
            "--timeout",
            Long.toString(idle.toSeconds())));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(Path.of("/").toFile())
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(files.log().toFile()));
    // Not the caller's environment: it may hold credentials, and QEMU would inherit them.
    builder.environment().clear();
    builder.environment().putAll(files.environment());
    return builder.start();
  }

  /**
   * Whether a call goes through. Asked on a thread of its own, because libvirtd accepts connections
   * long before it serves them, and libvirt's client would wait for ever.
   */
  private boolean answers(Deadline deadline) throws InterruptedIOException {
    if (!Files.exists(files.socket())) {
      return false;
    }
    LibvirtLibrary.load(); // so that a missing library is reported as such
    CompletableFuture<Boolean> answer =
        CompletableFuture.supplyAsync(this::ping, Thread.ofPlatform().daemon()::start);
    try {
      return answer.get(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for libvirtd");
    } catch (ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  private boolean ping() {
    try (Libvirt libvirt = Libvirt.open(files.uri())) {
      libvirt.version();
      return true;
    } catch (LibvirtException e) {
      return false;
    }
  }

  private IOException failure(String what) {
    return new IOException(
        "the libvirtd of %s %s. The end of %s:%n%s"
            .formatted(files.state(), what, files.log(), lastLogLines()));
  }

  private String lastLogLines() {
    try (InputStream log = Files.newInputStream(files.log())) {
      log.skipNBytes(Math.max(0, Files.size(files.log()) - LOG_BYTES));
      List<String> lines = new String(log.readNBytes(LOG_BYTES), UTF_8).lines().toList();
      return String.join(
          System.lineSeparator(),
          lines.subList(Math.max(0, lines.size() - LOG_LINES), lines.size()));
    } catch (IOException e) {
      return "(not readable: " + e + ")";
    }
  }

  private static String script() throws IOException {
    try (@Nullable InputStream script =
        PrivateLibvirt.class.getResourceAsStream("libvirtd-system.sh")) {
      if (script == null) {
        throw new AssertionError("libvirtd-system.sh is not in the jar");
      }
      return new String(script.readAllBytes(), UTF_8);
    }
  }
}
