package dev.platter.node.network;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A program that never outlives us: the kernel kills it when we die, however that happens.
 *
 * <p>The kernel means the <em>thread</em> that started it. Therefore one thread starts it, reads
 * what it says and waits for its end. (Should we be killed in the instant before the program has
 * asked for that signal, it goes on; a qemu-nbd that never sees a client then stays, and a qemu-img
 * that copies comes to its end, or finds its file locked by the next.)
 */
final class Child {
  private static final int MOST_OUTPUT = 16 << 10;
  private static final long POLITE_SECONDS = 2;

  /**
   * What was freed is kept for the next buffer. Otherwise each read takes new memory, and that
   * costs more than the bytes in it.
   */
  private static final String KEEP_MEMORY =
      "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456";

  private final Process process;
  private final CompletableFuture<String> output;

  private Child(Process process, CompletableFuture<String> output) {
    this.process = process;
    this.output = output;
  }

  /**
   * @param input what it gets on standard input
   */
  static Child start(List<String> command, byte[] input) throws IOException {
    return start(command, input, _ -> {});
  }

  /**
   * @param input what it gets on standard input
   * @param heard is told what it says as it comes, in another thread
   */
  static Child start(List<String> command, byte[] input, Consumer<String> heard)
      throws IOException {
    var words = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL", "--"));
    words.addAll(command);
    var builder = new ProcessBuilder(words).directory(Path.of("/").toFile());
    builder.redirectErrorStream(true);
    // Not ours: it may hold credentials, and proxies that were not meant for disks.
    builder.environment().keySet().retainAll(List.of("PATH"));
    builder.environment().put("LC_ALL", "C.UTF-8");
    builder.environment().put("GLIBC_TUNABLES", KEEP_MEMORY);

    var started = new CompletableFuture<Process>();
    var output = new CompletableFuture<String>();
    Thread.ofPlatform()
        .name("child-" + command.getFirst())
        .daemon()
        .start(() -> live(builder, heard, started, output));
    Process process;
    try {
      process = started.join();
    } catch (CompletionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException("cannot start %s: %s".formatted(command.getFirst(), cause), e);
    }
    try (OutputStream to = process.getOutputStream()) {
      to.write(input);
    } catch (IOException e) {
      // It has ended already, and says why.
    }
    return new Child(process, output);
  }

  private static void live(
      ProcessBuilder builder,
      Consumer<String> heard,
      CompletableFuture<Process> started,
      CompletableFuture<String> output) {
    try {
      Process process = builder.start();
      started.complete(process);
      output.complete(beginning(process.getInputStream(), heard));
      process.waitFor();
    } catch (IOException | InterruptedException e) {
      started.completeExceptionally(e);
      output.complete("");
    }
  }

  /** Reads all, so that the program never waits for us, and keeps what comes first. */
  private static String beginning(InputStream from, Consumer<String> heard) {
    var kept = new ByteArrayOutputStream();
    byte[] buffer = new byte[4096];
    try {
      for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
        kept.write(buffer, 0, Math.min(n, MOST_OUTPUT - kept.size()));
        heard.accept(new String(buffer, 0, n, UTF_8));
      }
    } catch (IOException e) {
      // Closed with the process.
    }
    return kept.toString(UTF_8);
  }

  boolean isAlive() {
    return process.isAlive();
  }

  long pid() {
    return process.pid();
  }

  /** Waits for its end, but not for ever; true if it has ended. */
  boolean awaitEnd(Duration limit) throws InterruptedException {
    return process.waitFor(limit);
  }

  /** Zero if all went well; only after its end. */
  int status() {
    return process.exitValue();
  }

  /**
   * How many bytes it has read and written so far, wherever; -1 if that is not known, or it has
   * ended.
   */
  long bytesMoved() {
    try {
      long moved = 0;
      for (String line : Files.readAllLines(Path.of("/proc/" + pid() + "/io"))) {
        if (line.startsWith("rchar: ") || line.startsWith("wchar: ")) {
          moved += Long.parseLong(line.substring(7));
        }
      }
      return moved;
    } catch (IOException e) {
      return -1;
    }
  }

  /** What it said until its end, which is waited for. */
  String output() throws InterruptedException {
    try {
      return output.get();
    } catch (ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  /** Has it end, and does not wait for that. */
  void askToEnd() {
    // By its handle: a Process closes what we have not yet read of its output.
    process.toHandle().destroy();
  }

  /** Ends it, by force if need be, and waits until it is gone. */
  void end() {
    askToEnd();
    ProcessHandle handle = process.toHandle();
    boolean interrupted = false;
    try {
      if (!process.waitFor(POLITE_SECONDS, TimeUnit.SECONDS)) {
        handle.destroyForcibly();
      }
    } catch (InterruptedException e) {
      interrupted = true;
      handle.destroyForcibly();
    }
    process.onExit().join();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
