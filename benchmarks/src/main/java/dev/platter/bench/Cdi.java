package dev.platter.bench;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * The importer and the upload server of KubeVirt's Containerized Data Importer, set up as its
 * controller does for a claim of the disk's size and one of scratch space.
 */
record Cdi(Path programs, Path data, Path scratch) {
  private static final Path LAB = Path.of(System.getProperty("repo.root"), "lab/cdi");

  /** Builds it, if nobody has. */
  static Cdi in(Path work) throws IOException {
    var built = Shell.shell().within(Duration.ofHours(1)).check(LAB.resolve("build")).out();
    return new Cdi(
        Path.of(built.strip()),
        Files.createDirectory(work.resolve("cdi-data")),
        Files.createDirectory(work.resolve("cdi-scratch")));
  }

  Path disk() {
    return data.resolve("disk.img");
  }

  private ProcessBuilder command(String program, Map<String, String> settings) {
    var builder =
        new ProcessBuilder(
            LAB.resolve("run").toString(),
            data.toString(),
            scratch.toString(),
            programs.resolve(program).toString(),
            "-v=1",
            "-alsologtostderr");
    builder.environment().putAll(settings);
    return builder
        .redirectErrorStream(true)
        .redirectOutput(data.resolveSibling("cdi.log").toFile());
  }

  private static Map<String, String> settings(long size, String name) {
    return new HashMap<>(
        Map.of(name, Long.toString(size), "FILESYSTEM_OVERHEAD", "0", "PREALLOCATION", "false"));
  }

  Stopwatch.Reading importFrom(String url, long size) throws IOException, InterruptedException {
    var settings = settings(size, "IMPORTER_IMAGE_SIZE");
    settings.putAll(
        Map.of(
            "IMPORTER_SOURCE", "http",
            "IMPORTER_ENDPOINT", url,
            "IMPORTER_CONTENTTYPE", "kubevirt",
            "INSECURE_TLS", "true"));
    var watch = Stopwatch.start();
    var process = command("cdi-importer", settings).start();
    require(process.waitFor());
    return watch.stop();
  }

  private void require(int status) throws IOException {
    if (status != 0) {
      throw new IOException(
          "CDI failed with status "
              + status
              + ": "
              + Files.readString(data.resolveSibling("cdi.log")));
    }
  }

  /** A server that takes one disk and ends. */
  Process serve(int port, long size) throws IOException {
    var settings = settings(size, "UPLOAD_IMAGE_SIZE");
    settings.putAll(
        Map.of(
            "LISTEN_ADDRESS", "127.0.0.1",
            "LISTEN_PORT", Integer.toString(port),
            "DESTINATION", "/data/disk.img"));
    return command("cdi-uploadserver", settings).start();
  }

  /** Waits until the server has ended by itself. */
  void ended(Process server) throws IOException, InterruptedException {
    require(server.waitFor());
  }
}
