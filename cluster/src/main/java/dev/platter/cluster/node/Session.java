package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.launch.Frame;
import dev.platter.cluster.launch.Frame.Kind;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * One connection of a launcher: starts its VM, shows it the console, and tells it how the VM ended.
 * A launcher that lies harms its own VM only: which VM that is, follows from the socket.
 */
final class Session {
  private static final Duration DEFAULT_GRACE = Duration.ofSeconds(30);

  /** What is left for the launcher to end in, so that nobody has to kill it. */
  private static final Duration FAREWELL = Duration.ofSeconds(2);

  private static final int BUSY_PAUSE = 20;
  private static final int IDLE_PAUSE = 200;
  private static final int IDENTITY_PAUSE = 20;
  private static final int TURN_PAUSE = 1000;
  private static final int LONGEST_TURN_PAUSE = 8000;
  private static final Duration NETWORK_PAUSE = Duration.ofSeconds(1);

  private final PodVms vms;
  private final EarlyStarts early;
  private final Api api;
  private final IdentityObstacles obstacles;
  private final Pod pod;
  private final SocketChannel launcher;
  private final VmReports reports;
  private final VmKey key;
  private volatile boolean gone;
  private boolean stopping;
  private boolean up;

  Session(
      PodVms vms,
      EarlyStarts early,
      Api api,
      IdentityObstacles obstacles,
      Pod pod,
      SocketChannel launcher,
      Metrics metrics,
      Consumer<String> log) {
    this.vms = vms;
    this.early = early;
    this.api = api;
    this.obstacles = obstacles;
    this.pod = pod;
    this.launcher = launcher;
    this.reports = new VmReports(api, pod, metrics, log);
    this.key = PodVms.key(pod);
  }

  /** Until the VM or the launcher has ended. */
  void run() throws IOException, InterruptedException {
    var first = Frame.read(launcher);
    if (first == null) {
      return;
    }
    send(new Frame(Kind.CONSOLE, new byte[0])); // From now on it is ours to start.
    Thread.ofVirtual().name("launcher " + key).start(this::listen); // ends with the connection
    long position;
    if (PodVms.awaitsVm(pod) && !awaitArrival()) {
      return;
    }
    switch (first.kind()) {
      case START -> {
        if (!PodVms.awaitsVm(pod) && (!awaitIdentity() || !start())) {
          return;
        }
        position = 0;
      }
      case CONTINUE -> position = first.position();
      default -> throw new IOException("a launcher began with " + first.kind());
    }
    var owner = vms.owner(key);
    if (owner.isEmpty() || position < 0 || vms.status(key).isEmpty()) {
      send(Frame.exit(1, "the VM did not start, or is gone"));
      return;
    }
    stopWhenUp(false, true);
    follow(owner.get().console() + position);
  }

  /** Waits for a VM that moves here; false if it was given up. */
  private boolean awaitArrival() throws IOException, InterruptedException {
    for (var pause = BUSY_PAUSE;
        !vms.arrivals().hasArrived(pod);
        pause = Math.min(2 * pause, IDLE_PAUSE)) {
      if (gone) {
        vms.arrivals().awaited().giveUp(pod);
        return false;
      }
      if (isStopping() && vms.arrivals().awaited().giveUp(pod)) {
        send(Frame.exit(0, ""));
        return false;
      }
      Thread.sleep(pause);
    }
    reports.report(true, Reason.RUNNING, Reason.RUNNING.sentence());
    return true;
  }

  /** Waits for the disk of the VM's identity, if it has one; false if it was given up. */
  private boolean awaitIdentity() throws IOException, InterruptedException {
    var said = "";
    for (var obstacle = obstacles.now(); obstacle.isPresent(); obstacle = obstacles.now()) {
      if (isGivenUp()) {
        return false;
      }
      if (!obstacle.get().equals(said)) {
        said = obstacle.get();
        reports.report(false, Reason.WAITING_FOR_IDENTITY, said);
      }
      Thread.sleep(IDENTITY_PAUSE);
    }
    return true;
  }

  /** Whether the launcher has gone, or wants no VM any more. */
  private boolean isGivenUp() throws IOException {
    if (!gone && isStopping()) {
      send(Frame.exit(0, ""));
      return true;
    }
    return gone;
  }

  private synchronized boolean isStopping() {
    return stopping;
  }

  private boolean start() throws IOException, InterruptedException {
    var said = "";
    for (var pause = TURN_PAUSE; ; pause = Math.min(2 * pause, LONGEST_TURN_PAUSE)) {
      try {
        var told = new FillReport(() -> gone || isStopping(), reports);
        var clock = early.finish(pod.getMetadata().getUid(), told);
        reports.started(clock.isPresent() ? clock.get() : vms.start(pod, told));
        reports.report(true, Reason.RUNNING, Reason.RUNNING.sentence());
        return true;
      } catch (PlatterException e) {
        if (!takesTurns(e)) {
          fail(e);
          return false;
        }
        if (!message(e).equals(said)) {
          said = message(e);
          reports.report(false, reason(e), said);
        }
      } catch (KubernetesClientException e) {
        reports.failed(Reason.UNAVAILABLE);
        send(
            Frame.exit(
                Code.UNAVAILABLE.exitStatus(),
                "the API server does not say what the VM refers to: " + e.getMessage()));
        return false;
      } catch (IOException | RuntimeException e) {
        var message = "the VM does not start: " + e;
        reports.log(message);
        reports.failed(Reason.INTERNAL);
        reports.report(false, Reason.INTERNAL, message);
        send(Frame.exit(Code.INTERNAL.exitStatus(), message));
        return false;
      }
      if (!waitForTurn(pause)) {
        return false;
      }
    }
  }

  /**
   * VMs of identities take turns: another may have the UUID or the disk for as long as it runs. A
   * launcher that ended instead would be started again ever more seldom, or never.
   */
  private boolean takesTurns(PlatterException e) {
    return e.code() == Code.CONFLICT && IdentityPods.identity(pod).isPresent();
  }

  private boolean waitForTurn(int millis) throws IOException, InterruptedException {
    for (var until = System.nanoTime() + millis * 1_000_000L; System.nanoTime() - until < 0; ) {
      if (isGivenUp()) {
        return false;
      }
      Thread.sleep(IDLE_PAUSE);
    }
    return true;
  }

  private void fail(PlatterException e) throws IOException {
    var message = message(e);
    var reason = reason(e);
    reports.failed(reason);
    reports.report(false, reason, message);
    send(Frame.exit(e.code().exitStatus(), message));
  }

  static Reason reason(PlatterException e) {
    return Reason.of(e.code());
  }

  static String message(PlatterException e) {
    var details = e.details().isEmpty() ? "" : " " + String.join("; ", e.details());
    return e.getMessage() + details + (e.next().isEmpty() ? "" : " " + e.next());
  }

  private void listen() {
    try {
      for (var frame = Frame.read(launcher); frame != null; frame = Frame.read(launcher)) {
        if (frame.kind() == Kind.STOP) {
          stopWhenUp(true, false);
        }
      }
    } catch (IOException e) {
      // It has ended, and the writer will notice.
    }
    gone = true;
  }

  /** A VM that is still being started is stopped as soon as it is up; and once. */
  private synchronized void stopWhenUp(boolean asked, boolean started) {
    var before = stopping && up;
    stopping |= asked;
    up |= started;
    if (stopping && up && !before) {
      Thread.ofVirtual().name("stop " + key).start(this::stop);
    }
  }

  private void stop() {
    var grace = grace().minus(FAREWELL);
    try {
      reports.report(false, Reason.STOPPING, Reason.STOPPING.sentence());
      vms.stop(key, grace.isNegative() ? Duration.ZERO : grace);
    } catch (IOException | PlatterException e) {
      reports.log("cannot be stopped: " + e.getMessage());
    }
  }

  /** As it is now: who deletes a pod may give it another time. */
  private Duration grace() {
    var now = api.pod(pod.getMetadata().getUid()).orElse(pod);
    var asked = now.getMetadata().getDeletionGracePeriodSeconds();
    var written = now.getSpec().getTerminationGracePeriodSeconds();
    var seconds = asked == null ? written : asked;
    return seconds == null ? DEFAULT_GRACE : Duration.ofSeconds(seconds);
  }

  private void follow(long from) throws IOException, InterruptedException {
    var process = vms.node().process(key);
    var vm = vms.node().status(key).plan().uuid();
    var nextLook = System.nanoTime();
    var stall = new StallReport(reports);
    var nextStall = nextLook;
    try (var console = new ConsoleLog(vms.consoleLog(key), from, Frame.MOST_BYTES)) {
      var pause = BUSY_PAUSE;
      while (launcher.isOpen()) {
        var ended = !alive(process);
        var bytes = console.next();
        if (bytes.length > 0) {
          send(new Frame(Kind.CONSOLE, bytes));
          pause = BUSY_PAUSE;
        } else if (ended) {
          break;
        } else {
          Thread.sleep(pause);
          pause = Math.min(2 * pause, IDLE_PAUSE);
        }
        if (System.nanoTime() - nextLook >= 0) {
          mendNetwork(vm);
          nextLook = System.nanoTime() + NETWORK_PAUSE.toNanos();
        }
        if (!isStopping() && System.nanoTime() - nextStall >= 0) {
          look(stall);
          nextStall = System.nanoTime() + StallReport.EVERY.toNanos();
        }
      }
    }
    if (!launcher.isOpen()) {
      return; // Another connection of the pod has taken its place.
    }
    var found = vms.ended(key, process);
    if (found.isEmpty()) {
      return;
    }
    var ending = found.get();
    var reason = ending.reason();
    if (!reason.isNormal()) {
      reports.failed(reason);
    }
    reports.report(false, reason, reason.sentence());
    send(Frame.exit(ending.status(), ending.note()));
  }

  /** The guest goes on whether that can be done or not. */
  private void mendNetwork(UUID vm) {
    try {
      if (vms.mendNetwork(pod, vm)) {
        reports.log("its network process had died; there is another");
      }
    } catch (IOException | PlatterException e) {
      reports.log("has no network: " + e.getMessage());
    }
  }

  /** Nor does it matter to the guest what is told of it. */
  private void look(StallReport stall) {
    try {
      var status = vms.status(key);
      if (status.isEmpty()) {
        return;
      }
      var why = vms.node().stall(status.get());
      var now = api.pod(pod.getMetadata().getUid()).orElse(pod);
      synchronized (this) { // Once it is to stop, nothing else is said of it.
        if (!stopping) {
          stall.look(now, status.get(), why);
        }
      }
    } catch (IOException | PlatterException e) {
      reports.log("cannot be looked at: " + e.getMessage());
    }
  }

  /** A process that has ended but was not yet waited for does not run any more. */
  private static boolean alive(OptionalLong process) {
    if (process.isEmpty()) {
      return false;
    }
    try {
      var stat = Files.readString(Path.of("/proc", Long.toString(process.getAsLong()), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
    } catch (IOException e) {
      return false;
    }
  }

  private void send(Frame frame) throws IOException {
    frame.write(launcher);
  }
}
