package dev.platter.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.lab.KubeNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;

/**
 * What all guests say, from the files in which containerd keeps the pods' output: they can be read
 * while the API server and the kubelet are dead, and what they held stays known when they are gone.
 */
final class Consoles implements AutoCloseable {
  private static final Pattern LINE = Pattern.compile("(\\S+) stdout [FP] (.*)");
  private static final Pattern ERROR = Pattern.compile("@@FAILED|I/O error|Call Trace|panic");
  private static final long POLL = 250;

  private final List<KubeNode> nodes;
  private final Map<Path, Long> read = new HashMap<>();
  private final List<Said> said = new CopyOnWriteArrayList<>();
  private final List<String> errors = new CopyOnWriteArrayList<>();
  private final Thread reader;
  private volatile boolean closed;

  Consoles(List<KubeNode> nodes) {
    this.nodes = nodes;
    reader = Thread.ofPlatform().name("consoles").daemon().start(this::follow);
  }

  /**
   * A record that a console said to be written.
   *
   * @param at when the node got the line
   */
  record Said(Written written, Instant at, String node) {}

  List<Said> of(String vm) {
    return said.stream().filter(one -> one.written().vm().equals(vm)).toList();
  }

  /** Lines that tell of a failed write or an unhappy kernel. */
  List<String> errors() {
    return errors;
  }

  /** Lines that a console should have shown once, between others of the same boot. */
  List<String> gaps() {
    var out = new ArrayList<String>();
    var last = new HashMap<String, Integer>();
    for (var one : said) {
      var written = one.written();
      var before = last.put(written.vm() + " " + written.boot(), written.number());
      if (before != null && before + 1 != written.number()) {
        out.add("the console at %s: %s after record %d".formatted(one.at(), written, before));
      }
    }
    return out;
  }

  private void follow() {
    while (!closed) {
      try {
        look();
        Thread.sleep(POLL);
      } catch (IOException e) {
        errors.add("the consoles cannot be read: " + e);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private synchronized void look() throws IOException {
    for (var node : nodes) {
      var logs = node.path("/var/log/pods");
      for (var pod : entries(logs, "default_*")) {
        for (var container : entries(pod, "*")) {
          for (var file : entries(container, "*.log")) {
            read(node, file);
          }
        }
      }
    }
  }

  /** They come and go while we look. */
  private static List<Path> entries(Path directory, String glob) throws IOException {
    var out = new ArrayList<Path>();
    try (var entries = Files.newDirectoryStream(directory, glob)) {
      entries.forEach(out::add);
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    }
    return out;
  }

  private void read(KubeNode node, Path file) throws IOException {
    var from = read.getOrDefault(file, 0L);
    try (var channel = FileChannel.open(file)) {
      var length = channel.size() - from;
      if (length <= 0) {
        return;
      }
      var bytes = ByteBuffer.allocate((int) length);
      while (bytes.hasRemaining() && channel.read(bytes, from + bytes.position()) > 0) {}
      var text = new String(bytes.array(), 0, bytes.position(), UTF_8);
      var whole = text.substring(0, text.lastIndexOf('\n') + 1);
      read.put(file, from + whole.getBytes(UTF_8).length);
      whole.lines().forEach(line -> take(node, line));
    } catch (NoSuchFileException e) {
      read.remove(file);
    }
  }

  private void take(KubeNode node, String line) {
    var parts = LINE.matcher(line);
    if (!parts.matches()) {
      return;
    }
    var text = parts.group(2).stripTrailing();
    var at = Instant.parse(parts.group(1));
    Written.answered(text).ifPresent(written -> said.add(new Said(written, at, node.name())));
    if (ERROR.matcher(text).find()) {
      errors.add("%s %s: %s".formatted(at, node.name(), text));
    }
  }

  /** What is there now is read before it returns. */
  void catchUp() {
    try {
      look();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    closed = true;
    reader.interrupt();
  }
}
