package dev.platter.lab;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A VM run by QEMU alone, without KVM and without libvirt: what a disk of ours is worth to a
 * stranger.
 */
public final class Machine implements AutoCloseable {
  private static final List<String> BASE =
      List.of(
          "qemu-system-x86_64 -accel tcg,tb-size=128 -display none -nodefaults -serial stdio"
              .split(" "));

  private final Process qemu;
  private final Console console;

  private Machine(Process qemu, Console console) {
    this.qemu = qemu;
    this.console = console;
  }

  /** Starts QEMU with these arguments added; its console is logged to a new file in {@code dir}. */
  public static Machine boot(Path dir, Object... arguments) {
    List<String> command = new ArrayList<>(BASE);
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    Path log = dir.resolve("console.log");
    try {
      Process qemu =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      return new Machine(qemu, Console.at(log, qemu::isAlive));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Console console() {
    return console;
  }

  /** Types one line on the console. */
  @SuppressWarnings("resource") // the stream is the process's own and is closed with it
  public void type(String line) {
    try {
      OutputStream in = qemu.getOutputStream();
      in.write((line + "\n").getBytes(UTF_8));
      in.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until the guest has powered off. */
  public void awaitPowerOff(Duration limit) {
    try {
      if (!qemu.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError("the guest is still on after %s".formatted(limit));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
    if (qemu.exitValue() != 0) {
      throw new AssertionError("QEMU ended with status %d".formatted(qemu.exitValue()));
    }
  }

  /** Pulls the plug. */
  @Override
  public void close() {
    qemu.destroyForcibly();
    try {
      qemu.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
