package dev.platter.cli;

import dev.platter.model.ByteSize;
import dev.platter.node.NodeDaemon;
import dev.platter.node.image.ImageDaemon;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
    name = "node",
    description = {
      "Run this machine's daemon: it serves images that are not complete yet, and wakes VMs whose storage was away.",
      "Other commands start it when they need it; run it yourself to keep it, and to set its limits."
    })
final class DaemonCommand implements Callable<Integer> {
  @Mixin NodeOptions node = new NodeOptions();

  @Option(
      names = "--idle",
      paramLabel = "SECONDS",
      description = "End after this long without anything to do; 0 stays (default: 0).")
  long idle;

  @Option(
      names = "--quiet",
      paramLabel = "SECONDS",
      description =
          "Fetch the rest of an image when its guest has read nothing for this long (default: 15).")
  long quiet = 15;

  @Option(
      names = "--patience",
      paramLabel = "SECONDS",
      description = "Fetch the rest after this long, whatever the guest does (default: 300).")
  long patience = 300;

  @Option(
      names = "--rate",
      paramLabel = "SIZE",
      description = {
        "Fetch no more than this a second in the background, for all images together (default: no limit).",
        "What a guest waits for, layers that can only be streamed and 'platter pull' have no limit."
      })
  @Nullable String rate;

  @Option(
      names = "--limit",
      paramLabel = "SIZE",
      description =
          "Keep images, layers of container images and downloads together below this size by removing"
              + " unused ones, the longest unused first (default: none).")
  @Nullable String limit;

  @Option(
      names = "--cluster",
      description =
          "Be the node $NODE_NAME of a Kubernetes cluster: run the VMs of its launcher pods.")
  boolean cluster;

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    nameProcess();
    var options =
        new ImageDaemon.Options(
            Duration.ofSeconds(idle),
            Duration.ofSeconds(quiet),
            Duration.ofSeconds(patience),
            bytes(rate),
            bytes(limit));
    var err = err();
    if (cluster) {
      ClusterDaemon.run(node.config(), options, err::println);
    } else {
      new NodeDaemon(node.config(), err::println).run(options);
    }
    return 0;
  }

  private static long bytes(@Nullable String size) {
    return size == null ? 0 : ByteSize.parse(size).bytes();
  }

  /** As others see it; without it the daemon would be one java among many. */
  private static void nameProcess() {
    try {
      Files.writeString(Path.of("/proc/self/comm"), "platterd");
    } catch (IOException e) {
      // It works as well under its own name.
    }
  }

  private PrintWriter err() {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    return spec.commandLine().getErr();
  }
}
