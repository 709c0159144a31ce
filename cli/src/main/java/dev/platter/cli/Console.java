package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** A terminal on a VM's serial console. Ctrl-] leaves it; the VM goes on. */
final class Console {
  private static final int LEAVE = 0x1d;

  private Console() {}

  static SocketChannel connect(Path socket) throws IOException {
    var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
      return channel;
    } catch (IOException e) {
      channel.close();
      throw PlatterException.of(
          Code.CONFLICT,
          "the console of the VM cannot be reached: " + e.getMessage(),
          "Is the VM running, and is nobody else on its console? See 'platter ps'.",
          e);
    }
  }

  static void attach(Path socket, PrintWriter out) throws IOException, InterruptedException {
    try (var channel = connect(socket)) {
      var raw = Terminal.onInput();
      if (raw) {
        out.println("Connected. Ctrl-] leaves the console.");
        out.flush();
        stty("raw", "-echo");
      }
      try {
        var typing = Thread.ofPlatform().daemon().start(() -> type(System.in, channel));
        Channels.newInputStream(channel).transferTo(System.out);
        System.out.flush();
        typing.interrupt();
      } catch (java.nio.channels.AsynchronousCloseException e) {
        // Ctrl-] closes the channel under the reader.
        System.out.flush();
      } finally {
        if (raw) {
          stty("sane");
          out.println();
        }
      }
    }
  }

  private static void type(InputStream keys, SocketChannel channel) {
    try {
      OutputStream guest = Channels.newOutputStream(channel);
      for (var key = keys.read(); key >= 0; key = keys.read()) {
        if (key == LEAVE && Terminal.onInput()) {
          channel.close();
          return;
        }
        guest.write(key);
      }
    } catch (IOException e) {
      // The VM ended; the reader sees it too and ends the session.
      Thread.currentThread().interrupt();
    }
  }

  private static void stty(String... arguments) throws IOException, InterruptedException {
    var command = new java.util.ArrayList<String>();
    command.add("stty");
    command.addAll(java.util.List.of(arguments));
    new ProcessBuilder(command).inheritIO().start().waitFor();
  }
}
