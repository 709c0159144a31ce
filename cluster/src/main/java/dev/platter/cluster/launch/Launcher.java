package dev.platter.cluster.launch;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Runs for as long as its VM does. It asks the node's daemon, through the socket that this pod
 * alone has, to start the VM, shows the console, hands a SIGTERM on as a shutdown of the guest, and
 * exits as the VM does.
 *
 * <p>The daemon may be away for a while, as when it is updated: the VM goes on, and so does this,
 * until the daemon is back. Nothing of the console is lost or shown twice.
 */
public final class Launcher {
  private static final Path SOCKET = Path.of("/platter/vm.sock");
  private static final long FIRST_PAUSE = 20;
  private static final long LONGEST_PAUSE = 1000;

  /** As a shell shows a process that could not do its work. */
  private static final int FAILED = 1;

  private final Path socket;
  private final OutputStream out;
  private @Nullable SocketChannel daemon;
  private volatile boolean started;
  private boolean stopping;
  private long shown;

  Launcher(Path socket, OutputStream out) {
    this.socket = socket;
    this.out = out;
  }

  /** The one argument is for tests: another socket. */
  public static void main(String[] args) throws InterruptedException {
    // Not System.out: it would decode and encode, and take its locks, for every byte of a console.
    var out = new FileOutputStream(FileDescriptor.out);
    var launcher = new Launcher(args.length > 0 ? Path.of(args[0]) : SOCKET, out);
    var main = Thread.currentThread();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  if (!launcher.stop()) {
                    return; // There is no VM.
                  }
                  // The main thread goes on reading, and halts when the VM has ended. If it never
                  // does, whoever sent the SIGTERM sends a SIGKILL.
                  join(main);
                }));
    Runtime.getRuntime().halt(launcher.run());
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Until the VM has ended; returns the exit status. */
  int run() throws InterruptedException {
    var pause = FIRST_PAUSE;
    while (true) {
      try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        channel.connect(UnixDomainSocketAddress.of(socket));
        greet(channel);
        var before = shown;
        var exit = follow(channel);
        if (exit != null) {
          return exit;
        }
        if (shown > before) {
          pause = FIRST_PAUSE; // It was of use; one that is not must not be asked all the time.
        }
      } catch (IOException e) {
        // The daemon is not there, or went away; a VM that runs goes on without it.
      } finally {
        part();
      }
      Thread.sleep(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  private synchronized void greet(SocketChannel channel) throws IOException {
    (started ? Frame.from(shown) : Frame.of(Frame.Kind.START)).write(channel);
    if (stopping) {
      Frame.of(Frame.Kind.STOP).write(channel);
    }
    daemon = channel;
  }

  private synchronized void part() {
    daemon = null;
  }

  /** SIGTERM; false if no daemon has ever taken the VM on. */
  synchronized boolean stop() {
    stopping = true;
    var channel = daemon;
    if (channel != null) {
      try {
        Frame.of(Frame.Kind.STOP).write(channel);
      } catch (IOException e) {
        // The next greeting says it.
      }
    }
    return started;
  }

  /** The exit status, or null if the daemon went away. */
  private @Nullable Integer follow(SocketChannel channel) throws IOException {
    while (true) {
      var frame = Frame.read(channel);
      if (frame == null) {
        return null;
      }
      // Whoever says something has taken the VM on: from now on it must not be started anew.
      started = true;
      switch (frame.kind()) {
        case CONSOLE -> {
          out.write(frame.body());
          shown += frame.body().length;
        }
        case NOTE -> note(frame.text());
        case EXIT -> {
          if (!frame.text().isEmpty()) {
            note(frame.text());
          }
          return frame.status();
        }
        case START, CONTINUE, STOP -> {
          return FAILED;
        }
      }
    }
  }

  private void note(String text) throws IOException {
    out.write(("platter: " + text + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
