package dev.platter.bench;

import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageDaemon;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.Images;
import dev.platter.plan.StateLayout;
import dev.platter.registry.Reference;
import dev.platter.registry.Registries;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * The daemon as a process of its own, compiled by earlier rounds as that of a busy node is. It
 * serves one node after another, each with an empty state. What the benchmark itself does (its
 * link, its client) is no work of the daemon and not counted as such.
 */
final class WarmDaemon implements AutoCloseable {
  private static final String UP = "up";
  private static final String DOWN = "down";

  private final Process process;
  private final BufferedReader answers;
  private final BufferedWriter orders;

  WarmDaemon() throws IOException, InterruptedException {
    this.process =
        new ProcessBuilder(PlatterCommand.daemon(WarmDaemon.class).words())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    this.answers = process.inputReader(StandardCharsets.UTF_8);
    this.orders = process.outputWriter(StandardCharsets.UTF_8);
  }

  /** Serves a node with an empty state, or with what somebody has put there. */
  Serving serve(Path directory) throws IOException {
    order(directory.toString(), UP);
    return new Serving(directory);
  }

  /** Counts the CPU time of the daemon alone. */
  Stopwatch startWatch() {
    return Stopwatch.startFor(process.pid());
  }

  private void order(String line, String wanted) throws IOException {
    orders.write(line);
    orders.newLine();
    orders.flush();
    var answer = answers.readLine();
    if (!wanted.equals(answer)) {
      throw new IOException("the daemon says '%s' to '%s'".formatted(answer, line));
    }
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A node, as long as the daemon serves it. */
  final class Serving implements AutoCloseable {
    private final StateLayout layout;
    private final Images images;

    private Serving(Path directory) throws IOException {
      this.layout = LabNode.layout(directory);
      this.images =
          new ImageClient(layout, sources(), new DaemonLauncher(layout, List.of("false")));
    }

    StateLayout layout() {
      return layout;
    }

    /** The disk of an image as QEMU gets it: asked for over one socket, read over the other. */
    NbdReader open(String reference, String digest) throws IOException {
      images.ensure(reference, digest, Images.BytesDone.NOBODY);
      return NbdReader.connect(layout.nbdSocket(), digest);
    }

    /** Waits until all of it is here, in the file of the base. */
    Path complete(String reference, String digest) throws IOException {
      images.complete(reference, digest, Images.BytesDone.NOBODY);
      return layout.base(digest);
    }

    @Override
    public void close() throws IOException {
      images.close();
      order("", DOWN);
    }
  }

  private static ImageSources sources() throws IOException {
    var registries = Registries.fromEnvironment(System.getenv());
    return text -> {
      var reference = Reference.parse(text);
      return new ImageSources.Located(registries.client(reference), reference.tagOrDigest(), text);
    };
  }

  /** Reads a directory to serve, or an empty line to stop serving, until nobody says more. */
  public static void main(String[] args) throws IOException {
    var sources = sources();
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    ImageDaemon daemon = null;
    for (String line; (line = lines.readLine()) != null; ) {
      if (daemon != null) {
        daemon.close();
        daemon = null;
      }
      if (!line.isEmpty()) {
        var layout = LabNode.layout(Path.of(line));
        var options = LabDaemon.options(LabDaemon.NEVER);
        daemon =
            ImageDaemon.start(layout, sources, ImageUsers.NONE, _ -> {}, options)
                .orElseThrow(() -> new IOException("another daemon is at " + layout.state()));
      }
      System.out.println(daemon == null ? DOWN : UP);
    }
  }
}
