package dev.platter.node.image;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.oci.Descriptor;
import dev.platter.model.PlatterException;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes layers of strangers' images in a process of its own, one at a time: the tree of an image's
 * files takes more memory than a daemon has that serves the disks of others. The bytes are fetched
 * before, so that a registry which sends them slowly keeps nobody else waiting.
 *
 * <p>The process dies with the thread that started it, as the kernel sees to; that thread lives for
 * nothing else.
 */
public final class LayerProcess implements LayerMaker {
  /** For half a million files, and 128 MiB of names and attributes. */
  private static final String HEAP = "-Xmx640m";

  private static final int REFUSED = 7;
  private static final int NO_ROOM = 8;
  private static final int OUT_OF_MEMORY = 3;
  private static final int MOST_MINUTES = 15;
  private static final int MOST_MESSAGE = 2000;

  private final Semaphore turn = new Semaphore(1, true);

  @Override
  public void make(
      Path directory, @Nullable Path below, Descriptor layer, InputStream packed, Digest diffId)
      throws IOException {
    var blob = directory.resolve("blob");
    var said = directory.resolve("said");
    try (packed) {
      Files.copy(Reserve.ofLayer(directory, layer).watched(packed), blob);
    }
    var builder =
        new ProcessBuilder(command(directory, below, layer, diffId))
            .redirectInput(blob.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    builder.environment().keySet().retainAll(List.of("PATH"));
    var work = new FutureTask<>(() -> run(builder));
    try {
      turn.acquire();
      try {
        Thread.ofPlatform().name("layer").daemon().start(work);
        check(layer, work.get(), said);
      } finally {
        turn.release();
      }
    } catch (InterruptedException e) {
      work.cancel(true);
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } catch (ExecutionException e) {
      throw new IOException("layer " + layer.digest() + ": " + e.getCause(), e);
    }
    Durable.delete(blob);
    Durable.delete(said);
  }

  private static List<String> command(
      Path directory, @Nullable Path below, Descriptor layer, Digest diffId) {
    return List.of(
        "setpriv",
        "--pdeathsig",
        "KILL",
        "--",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-Xlog:disable",
        HEAP,
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-cp",
        System.getProperty("java.class.path"),
        LayerProcess.class.getName(),
        directory.toString(),
        below == null ? "" : below.toString(),
        layer.mediaType(),
        layer.digest().toString(),
        Long.toString(layer.size()),
        diffId.toString());
  }

  /** Its exit status; that of a killed one if it took too long. */
  private static int run(ProcessBuilder builder) throws IOException, InterruptedException {
    var process = builder.start();
    try {
      return process.waitFor(MOST_MINUTES, TimeUnit.MINUTES) ? process.exitValue() : REFUSED;
    } finally {
      process.destroyForcibly();
    }
  }

  private static void check(Descriptor layer, int status, Path file) throws IOException {
    if (status == 0) {
      return;
    }
    String said;
    try (var in = Files.newInputStream(file)) {
      said = Printable.of(new String(in.readNBytes(MOST_MESSAGE), UTF_8).strip(), MOST_MESSAGE);
    }
    if (status == NO_ROOM) {
      throw Reserve.none(said);
    }
    throw switch (status) {
      case REFUSED ->
          new BadImageException(
              said.isEmpty()
                  ? "layer " + layer.digest() + " takes more than " + MOST_MINUTES + " minutes"
                  : said);
      case OUT_OF_MEMORY ->
          new BadImageException("layer " + layer.digest() + " takes too much memory");
      default -> new IOException("layer " + layer.digest() + ": status " + status + " " + said);
    };
  }

  /** The process: DIRECTORY BELOW TYPE DIGEST SIZE DIFFID, with the layer as standard input. */
  public static void main(String[] args) throws IOException {
    var words = List.of(args);
    var below = words.get(1).isEmpty() ? null : Path.of(words.get(1));
    var layer =
        new Descriptor(words.get(2), Digest.parse(words.get(3)), Long.parseLong(words.get(4)));
    try {
      HERE.make(Path.of(words.get(0)), below, layer, System.in, Digest.parse(words.get(5)));
    } catch (BadImageException e) {
      System.out.println(e.getMessage());
      System.exit(REFUSED);
    } catch (PlatterException e) {
      System.out.println(e.getMessage());
      System.exit(NO_ROOM);
    }
  }
}
