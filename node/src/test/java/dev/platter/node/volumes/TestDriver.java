package dev.platter.node.volumes;

import dev.platter.model.ByteSize;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * The part of a driver that has to do with volumes which begin as an image, as a process of its own
 * that can be killed: one volume, staged as a device.
 */
public final class TestDriver implements AutoCloseable {
  private static final String NAME = "root";

  private final Process process;
  private final Path device;

  /**
   * @param size of the volume
   * @param image the size of its disk
   * @param quiet for how long the guest must have read nothing before the rest is fetched
   */
  public static TestDriver start(
      Path work, Path images, String digest, long image, ByteSize size, Duration quiet)
      throws IOException {
    return new TestDriver(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            TestDriver.class.getName(),
            work.toString(),
            images.toString(),
            digest,
            Long.toString(image),
            Long.toString(size.bytes()),
            quiet.toString()));
  }

  private TestDriver(List<String> command) throws IOException {
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var said =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    var line = said.readLine();
    if (line == null) {
      throw new IOException("the driver did not start");
    }
    device = Path.of(line);
  }

  /** Of the volume. */
  public Path device() {
    return device;
  }

  /** With SIGKILL. */
  public void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }

  public static DrawnFiles files(Path work) {
    return new DrawnFiles(work.resolve("driver"));
  }

  private static VolumeDirectory pool(Path work) throws IOException {
    return VolumeDirectory.open(work.resolve("pool"), ByteSize.parse("1Gi"));
  }

  /** Whether all of the volume's bytes are there, by its record. */
  public static boolean isComplete(Path work) throws IOException {
    var records = work.resolve("pool/volumes/volumes");
    try (var all = Files.newDirectoryStream(records, "*.json")) {
      return Files.readString(all.iterator().next()).contains("\"complete\":true");
    }
  }

  /** Its file, of which this process must not write. */
  public static Path bytes(Path work) throws IOException {
    try (var all = Files.newDirectoryStream(work.resolve("pool/volumes/volumes"), "*.raw")) {
      return all.iterator().next();
    }
  }

  /** As kubelet and the driver do when nobody has the volume any more: it loses its device. */
  public static Path restaged(Path work) throws IOException {
    var directory = pool(work);
    var store = VolumeStore.open(directory);
    var volume = store.volumeNamed(NAME).orElseThrow();
    LoopDevices.detachAll(store.bytes(volume));
    try (var drawn = DrawnVolumes.start(store, files(work), work.resolve("nobody"))) {
      drawn.release(volume.id());
    }
    var device = LoopDevices.attachToBind(store.bytes(volume), false);
    directory.abandon();
    return device;
  }

  /** Nothing is left of it. */
  public static void remove(Path work) throws IOException {
    try (var directory = pool(work)) {
      var store = VolumeStore.open(directory);
      for (var volume : store.volumes()) {
        LoopDevices.detachAll(store.bytes(volume));
        store.delete(volume.id());
      }
    }
  }

  public static void main(String[] args) throws Exception {
    var work = Path.of(args[0]);
    try (var directory = pool(work)) {
      var store = VolumeStore.open(directory);
      try (var drawn =
          DrawnVolumes.start(store, files(work), Path.of(args[1]), Duration.parse(args[5]))) {
        var volume = store.create(NAME, Long.parseLong(args[4]), null);
        drawn.draw(volume.id(), args[2], Long.parseLong(args[3]));
        System.out.println(LoopDevices.attachToBind(store.bytes(volume), false));
        new CountDownLatch(1).await();
      }
    }
  }
}
