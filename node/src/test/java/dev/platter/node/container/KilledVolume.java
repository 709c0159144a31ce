package dev.platter.node.container;

import dev.platter.node.container.DynamicVolume.Moment;
import dev.platter.node.container.VolumeContainer.Scheme;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A process of its own that makes or unmakes a volume and is killed by SIGKILL on its way. */
final class KilledVolume {
  private static final int SIGKILL_STATUS = 128 + 9;

  private KilledVolume() {}

  static void run(String command, Moment moment, VolumeLab lab) throws Exception {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var options = List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto");
    var arguments =
        List.of(
            command,
            moment.name(),
            lab.containerd.socket().toString(),
            lab.name.vm().toString(),
            lab.name.disk(),
            lab.directory.toString(),
            lab.image,
            Integer.toString(lab.storage.port()));
    var words =
        Stream.of(
                List.of(java),
                options,
                List.of("-cp", System.getProperty("java.class.path"), KilledVolume.class.getName()),
                arguments)
            .flatMap(List::stream)
            .toList();
    var process = new ProcessBuilder(words).inheritIO().start();
    try {
      if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != SIGKILL_STATUS) {
        throw new AssertionError(command + " was not killed at " + moment);
      }
    } finally {
      process.destroyForcibly();
    }
  }

  public static void main(String[] args) throws IOException {
    var moment = Moment.valueOf(args[1]);
    var volume =
        new DynamicVolume(
            new ContainerRuntime(Path.of(args[2])),
            new VolumeName(UUID.fromString(args[3]), args[4]),
            Path.of(args[5]),
            VolumeLab.PATIENCE,
            reached -> {
              if (reached == moment) {
                killMyself();
              }
            });
    if (args[0].equals("make")) {
      volume.make(VolumeLab.container(args[6], Integer.parseInt(args[7]), "", Scheme.HTTPS));
    } else {
      volume.unmake();
    }
  }

  private static void killMyself() {
    try {
      new ProcessBuilder("sh", "-c", "kill -9 " + ProcessHandle.current().pid()).start().waitFor();
      Thread.sleep(10_000);
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
