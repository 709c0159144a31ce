package dev.platter.cluster.upload;

import dev.platter.cluster.KubeClient;
import dev.platter.node.fill.UploadProxy;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * What runs in the pods of {@code platter-uploads}: a proxy before the pods that take disks. It can
 * read pods and nothing else of the cluster, and has no key that a token could be made with: who
 * has it can send no disk.
 */
public final class UploadGate {
  public static final int PORT = 8443;

  private static final Duration TICK = Duration.ofSeconds(1);
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private UploadGate() {}

  /**
   * Until the thread is interrupted.
   *
   * @param directory where the Secret is mounted
   */
  public static void run(Path directory, Consumer<String> log)
      throws IOException, InterruptedException {
    var files = new UploadFiles(directory);
    files.read(); // Better no proxy than one that nobody can use.
    try (var client = KubeClient.open();
        var _ =
            UploadProxy.start(
                new InetSocketAddress(PORT),
                () -> files.read().server(),
                PATIENCE,
                doors(files, client))) {
      log.accept("ready");
      new CountDownLatch(1).await();
    }
  }

  private static PodDoors doors(UploadFiles files, KubernetesClient client) {
    return new PodDoors(
        files::read,
        (namespace, name) ->
            Optional.ofNullable(client.pods().inNamespace(namespace).withName(name).get()),
        InstantSource.system(),
        TICK);
  }
}
