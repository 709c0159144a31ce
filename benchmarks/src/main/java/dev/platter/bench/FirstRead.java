package dev.platter.bench;

import dev.platter.bench.ShapedLink.Shape;
import dev.platter.lab.Registry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * From "this image, by digest" to bytes of its disk in the hands of an NBD client, on a node that
 * has nothing of the image and no connection to its registry.
 *
 * @param reading the CPU is that of the daemon, all of its threads
 * @param bytes that came over the link until then
 * @param requests that the registry has seen until then
 */
record FirstRead(Stopwatch.Reading reading, long bytes, int connections, int requests) {
  private static final Shape DIRECT = new Shape(0, Duration.ZERO);

  /**
   * @param raw what the disk must look like
   * @param shape of the link; null for one that neither slows down nor delays. A link is new each
   *     time, so the daemon has no connection to it
   */
  static FirstRead measure(
      WarmDaemon daemon,
      Path directory,
      Registry registry,
      PushedImage image,
      Path raw,
      long offset,
      int length,
      @Nullable Shape shape)
      throws Exception {
    var before = registry.requests().size();
    try (var link = new ShapedLink(registry.address(), shape == null ? DIRECT : shape);
        var node = daemon.serve(directory)) {
      var reference = image.at(link.address());
      var watch = daemon.startWatch();
      Stopwatch.Reading reading;
      byte[] bytes;
      try (var disk = node.open(reference, image.digest())) {
        bytes = disk.read(offset, length);
        reading = watch.stop();
      }
      var arrived = link.bytes();
      requireSame(raw, offset, bytes);
      return new FirstRead(
          reading, arrived, link.connections(), registry.requests().size() - before);
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
  }

  static void requireSame(Path raw, long offset, byte[] bytes) throws IOException {
    var wanted = ByteBuffer.allocate(bytes.length);
    try (var file = FileChannel.open(raw)) {
      while (wanted.hasRemaining() && file.read(wanted, offset + wanted.position()) >= 0) {}
    }
    if (!Arrays.equals(wanted.array(), bytes)) {
      throw new IOException("other bytes at " + offset + " than the disk has");
    }
  }

  /** The middle one by time, with the median of CPU times, once the warm-up is left out. */
  static FirstRead median(List<FirstRead> all, int warmUp) {
    var counted = new ArrayList<>(all.subList(warmUp, all.size()));
    counted.sort((a, b) -> Double.compare(a.reading.millis(), b.reading.millis()));
    var middle = counted.get(counted.size() / 2);
    var cpu = Contest.median(counted.stream().map(one -> one.reading.cpuMillis()).toList());
    return new FirstRead(
        new Stopwatch.Reading(middle.reading.millis(), cpu),
        middle.bytes,
        middle.connections,
        middle.requests);
  }
}
