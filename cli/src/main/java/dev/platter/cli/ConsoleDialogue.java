package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Talks to a guest's shell over its console, showing both sides, with a limit on how long an answer
 * may take.
 */
final class ConsoleDialogue implements AutoCloseable {
  private static final int MOST_CHARACTERS = 1 << 20;
  private static final Duration NUDGE = Duration.ofSeconds(2);

  private final SocketChannel channel;
  private final Selector selector;
  private final PrintWriter out;
  private final Duration patience;
  private final StringBuilder heard = new StringBuilder();
  private boolean lineStart = true;

  ConsoleDialogue(Path socket, PrintWriter out, Duration patience) throws IOException {
    this.channel = Console.connect(socket);
    this.selector = Selector.open();
    this.out = out;
    this.patience = patience;
    channel.configureBlocking(false);
    var _ = channel.register(selector, SelectionKey.OP_READ);
  }

  /**
   * Waits for the prompt. It may have passed before we were connected, so an empty line is typed
   * now and then.
   */
  void nudge(String prompt) throws IOException {
    var end = System.nanoTime() + patience.toNanos();
    while (!hear(prompt, NUDGE)) {
      if (System.nanoTime() > end) {
        throw tooLong(prompt);
      }
      type("\n");
    }
  }

  /** Types the command and returns everything up to the next prompt. */
  String command(String command, String prompt) throws IOException {
    drain();
    heard.setLength(0);
    type(command + "\n");
    if (!hear("\n", patience) || !hear(prompt, patience)) {
      throw tooLong(prompt);
    }
    out.println();
    // The guest echoes what is typed; the answer is what follows the first line.
    return heard.substring(heard.indexOf("\n") + 1);
  }

  private PlatterException tooLong(String prompt) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the guest did not say '" + prompt.strip() + "' within " + patience.toSeconds() + " s",
        "Look at its console above; on a slow machine without KVM try again.");
  }

  private void drain() throws IOException {
    while (hear("\0", Duration.ofMillis(300))) {
      heard.setLength(0);
    }
  }

  private void type(String text) throws IOException {
    var bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  private boolean hear(String expected, Duration within) throws IOException {
    var end = System.nanoTime() + within.toNanos();
    var buffer = ByteBuffer.allocate(4096);
    while (heard.indexOf(expected) < 0) {
      Cancellation.check();
      var left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return false;
      }
      selector.select(left);
      selector.selectedKeys().clear();
      buffer.clear();
      var count = channel.read(buffer);
      if (count < 0) {
        throw PlatterException.of(Code.UNAVAILABLE, "the VM ended", "Its last words are above.");
      }
      var text = new String(buffer.array(), 0, count, StandardCharsets.UTF_8).replace("\r", "");
      heard.append(text);
      if (heard.length() > MOST_CHARACTERS) {
        heard.delete(0, heard.length() - MOST_CHARACTERS / 2);
      }
      show(text);
    }
    return true;
  }

  private void show(String text) {
    for (var i = 0; i < text.length(); i++) {
      if (lineStart) {
        out.print("   │ ");
      }
      out.print(text.charAt(i));
      lineStart = text.charAt(i) == '\n';
    }
    out.flush();
  }

  @Override
  public void close() throws IOException {
    selector.close();
    channel.close();
  }
}
