package dev.platter.cli;

import dev.platter.cluster.csi.CsiServer;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.VolumeDirectory;
import dev.platter.node.volumes.VolumeStore;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
    name = "csi",
    description = {
      "Run the CSI driver of the volumes that are kept on this node.",
      "'platter install --volumes' runs it in the cluster; $NODE_NAME is the node."
    })
final class CsiCommand implements Callable<Integer> {
  @Option(
      names = "--pool",
      required = true,
      paramLabel = "DIR[:LIMIT]",
      description =
          "Where the volumes are, and how much they may promise together (default: what is free).")
  String pool = "";

  @Option(
      names = "--images",
      paramLabel = "SOCKET",
      description = "Where the node's daemon serves images (default: ${DEFAULT-VALUE}).")
  Path images = Path.of("/run/platter/nbd.sock");

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    var colon = pool.indexOf(':');
    var directory = Path.of(colon < 0 ? pool : pool.substring(0, colon)).toAbsolutePath();
    var limit = colon < 0 ? null : ByteSize.parse(pool.substring(colon + 1));
    var kubelet = Path.of(System.getenv().getOrDefault("PLATTER_KUBELET_ROOT", "/var/lib/kubelet"));
    return Interrupt.guard(
        () -> {
          try (var volumes = VolumeDirectory.open(directory, limit);
              var drawn =
                  DrawnVolumes.start(
                      VolumeStore.open(volumes), CsiServer.drawnFiles(kubelet), images);
              var _ = CsiServer.start(kubelet, node(), drawn)) {
            err().println("ready");
            new CountDownLatch(1).await();
          } catch (InterruptedException e) {
            // It is time to end; what is mounted stays for the next one.
          }
          return 0;
        });
  }

  private static String node() {
    var node = System.getenv("NODE_NAME");
    if (node == null || node.isEmpty()) {
      throw PlatterException.of(
          Code.INVALID, "$NODE_NAME is not set", "'platter install --volumes' sets it.");
    }
    return node;
  }

  private PrintWriter err() {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    return spec.commandLine().getErr();
  }
}
