package dev.platter.node.container;

import dev.platter.image.Printable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** The end of what a container said: at most ten lines, each made fit to be printed. */
final class ContainerLog {
  private static final int LINES = 10;
  private static final int LINE_LENGTH = 200;
  private static final int BYTES = 8 << 10;

  private ContainerLog() {}

  static List<String> tail(VolumeFiles files) throws IOException {
    try (var channel = FileChannel.open(files.log(), StandardOpenOption.READ)) {
      var buffer = ByteBuffer.allocate(BYTES);
      var position = Math.max(0, channel.size() - BYTES);
      while (buffer.hasRemaining() && channel.read(buffer, position + buffer.position()) > 0) {}
      var text = new String(buffer.array(), 0, buffer.position(), StandardCharsets.UTF_8);
      var lines = text.lines().map(line -> Printable.of(line, LINE_LENGTH)).toList();
      return lines.subList(Math.max(0, lines.size() - LINES), lines.size()).stream()
          .map(line -> "the container said: " + line)
          .toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }
}
