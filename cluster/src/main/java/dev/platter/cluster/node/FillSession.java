package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.launch.Frame;
import dev.platter.cluster.launch.Frame.Kind;
import dev.platter.model.PlatterException;
import dev.platter.node.durable.Cancellation;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One connection of a launcher whose pod has something to fill. It exits with 0 when that is done;
 * until then the pod says how far it is. A launcher that comes back after the daemon was away has
 * it done once more.
 */
final class FillSession {
  private static final Duration REPORT_PAUSE = Duration.ofSeconds(2);

  private final Fills fills;
  private final Api api;
  private final Pod pod;
  private final String wanted;
  private final SocketChannel launcher;
  private final Consumer<String> log;
  private final AtomicBoolean reporting = new AtomicBoolean();
  private long nextReport = System.nanoTime();

  FillSession(
      Fills fills, Api api, Pod pod, String wanted, SocketChannel launcher, Consumer<String> log) {
    this.fills = fills;
    this.api = api;
    this.pod = pod;
    this.wanted = wanted;
    this.launcher = launcher;
    this.log = log;
  }

  /** Until all is done, or the launcher is gone. */
  void run() throws IOException {
    if (Frame.read(launcher) == null) {
      return;
    }
    send(new Frame(Kind.CONSOLE, new byte[0]));
    var work = Thread.currentThread();
    Thread.ofVirtual().name("fill " + PodVms.key(pod)).start(() -> listen(work));
    send(work());
  }

  /** A launcher says nothing more but that it has to end. */
  private void listen(Thread work) {
    try {
      Frame.read(launcher);
    } catch (IOException e) {
      // Then it has ended.
    }
    work.interrupt();
  }

  private Frame work() {
    try {
      if (wanted.equals(Names.FILL_NOTHING)) {
        var size = fills.size(pod);
        until(() -> api.imageSize(pod, size));
        return Frame.exit(0, "the image has " + size + " bytes");
      }
      if (wanted.equals(Names.FILL_DRAW) || wanted.equals(Names.FILL_STAY)) {
        if (wanted.equals(Names.FILL_DRAW) && !Fills.hasBegun(pod)) {
          var size = fills.draw(pod);
          until(() -> api.imageSize(pod, size));
          log.accept(PodVms.key(pod) + ": the volume begins as the image");
        }
        fills.await(pod, this::fetched);
        return Frame.exit(0, "all of the image is here");
      }
      fills.fill(pod, wanted, this::done);
      log.accept(PodVms.key(pod) + ": the claim is filled");
      return Frame.exit(0, "the claim is filled");
    } catch (PlatterException e) {
      return failed(Session.reason(e), e.code(), Session.message(e));
    } catch (KubernetesClientException e) {
      return failed(
          Reason.UNAVAILABLE, PlatterException.Code.UNAVAILABLE, String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      return ended();
    } catch (IOException | RuntimeException e) {
      return failed(Reason.INTERNAL, PlatterException.Code.INTERNAL, e.toString());
    }
  }

  private Frame failed(Reason reason, PlatterException.Code code, String message) {
    if (Thread.interrupted()) {
      return ended();
    }
    log.accept(PodVms.key(pod) + ": " + message);
    say(reason, message);
    return Frame.exit(code.exitStatus(), message);
  }

  private static Frame ended() {
    return Frame.exit(1, "the pod ends before it has done its work");
  }

  private static void until(Runnable said) throws InterruptedException {
    while (true) {
      try {
        said.run();
        return;
      } catch (KubernetesClientException e) {
        Thread.sleep(REPORT_PAUSE); // The API server is away.
      }
    }
  }

  private void done(long bytes) {
    Cancellation.check();
    if (System.nanoTime() - nextReport >= 0) {
      nextReport = System.nanoTime() + REPORT_PAUSE.toNanos();
      say(Reason.IMPORTING, "%d MiB are written.".formatted(bytes >> 20));
    }
  }

  private void fetched(long bytes) {
    Cancellation.check();
    if (System.nanoTime() - nextReport >= 0) {
      nextReport = System.nanoTime() + REPORT_PAUSE.toNanos();
      say(Reason.DRAWING, "%d MiB are here.".formatted(bytes >> 20));
    }
  }

  /** Nobody waits for it. */
  private void say(Reason reason, String message) {
    if (reporting.compareAndSet(false, true)) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  api.running(pod, false, reason, message);
                } catch (KubernetesClientException e) {
                  log.accept(PodVms.key(pod) + ": cannot be reported: " + e.getMessage());
                } finally {
                  reporting.set(false);
                }
              });
    }
  }

  private void send(Frame frame) throws IOException {
    frame.write(launcher);
  }
}
